"""The dialect "numba": device functions and kernels of numba.cuda, lowered by Numba and linked as LLVM IR."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tle_raw.adapters.common.block_options import read_block
from tle_raw.adapters.common.device_llvm.device import DeviceIR, compile_device_ir
from tle_raw.adapters.common.device_llvm.prototype import prototype_text
from tle_raw.adapters.common.whole_kernel import make_whole_kernel
from tle_raw.adapters.numba.installed import PACKAGE, load
from tle_raw.adapters.numba.lower import ENTRY, lower
from tle_raw.adapters.numba.types import arguments_of, dtype_of, read_types, signature_for, types_of
from tle_raw.adapters.numba.whole_kernel import ArrayKernel
from tle_raw.errors import DialectError, FragmentSourceError, SourceLocation, UnsupportedFeatureError
from tle_raw.fragments.adapter import CompilerOutput, Declaration, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.options import known_options, wrong_type
from tle_raw.fragments.signature import Signature
from tle_raw.fragments.source_text import location_of_function
from tle_raw.linker.tools.llvmlite_binding import llvmlite_identity
from tle_raw.target import Target

OPTIONS = ("types", "block", "capability", "shared", "grid", "symbol")
OLDEST = (8, 0)
# Options of @cuda.jit that have no meaning before Triton's own assembler, or that Numba keeps for itself.
_IGNORED = frozenset(
    ("device", "fastmath", "opt", "lineinfo", "inline", "forceinline", "max_registers", "nopython", "boundscheck",
     "extensions", "launch_bounds", "cache", "error_model", "nvvm_options", "lto", "output", "abi", "abi_info")
)  # fmt: skip


class NumbaAdapter:
    """``fragment(function, types="float32(float32)")``, or ``signature=`` a typed stub; ``block=``, ``capability=``."""

    name = "numba"

    def takes(self, source: object, named: bool) -> bool:
        """A dispatcher, known by its class; a plain function where the dialect is named."""
        return _is_dispatcher(source) or (named and inspect.isfunction(source))

    def complete(self, declaration: Declaration) -> Declaration:
        """With the function's name and line."""
        function = _function(declaration.wrapped)
        return replace(declaration, name=function.__name__, location=_location(function, declaration.location))

    def read(self, declaration: Declaration) -> Source:
        """Lower the function: what Numba makes of it, with all that it calls and all constants, is the source.

        Raises
        ------
        ToolchainError : Numba is missing, or outside the tested range. DialectError : an option is wrong.
        SignatureError, UnsupportedFeatureError : a type cannot cross. CompilationFailed : Numba refuses the function.
        """
        load()
        given = known_options("numba", {k: v for k, v in declaration.options.items() if v is not None}, OPTIONS, {})
        if declaration.wrapped is None:
            raise FragmentSourceError(
                "the dialect numba takes functions of Numba's", hint="tle_raw.fragment(function, types=…)"
            )
        function, options = _function(declaration.wrapped), _target_options(declaration.wrapped)
        names = list(inspect.signature(function).parameters)
        if (declaration.signature is None) == ("types" not in given):
            raise DialectError(
                "the types of Numba's functions are told by types= or by signature=",
                hint='types="float32(float32, float32)", types="void(float32[::1], int32)", or a typed stub',
            )
        if declaration.signature is not None:
            types, result = types_of(declaration.signature), None
        else:
            types, result = read_types(given["types"], names)
        if len(types) != len(names):
            raise DialectError(f"`{function.__name__}` has {len(names)} arguments, and the signature {len(types)}")
        if given.get("shared") or given.get("grid"):
            raise UnsupportedFeatureError(
                "a fragment of Numba's takes neither shared= nor grid=",
                hint="cuda.shared.array(64, float32) has a size of its own; block indices are arguments",
            )
        arguments = arguments_of(types, names)
        block = read_block(given.get("block", ()))
        capability = _capability(given.get("capability", OLDEST))
        lowered = lower(function, types, result, arguments, options.get("fastmath"), capability, block)
        own = None
        if declaration.signature is None:
            own = signature_for(declaration.name, arguments, lowered.result)
        else:
            _check_result(declaration.signature, lowered.result)
        location = declaration.location
        settings = (("block", str(block)), ("numba", PACKAGE.installed_version()))
        return Source(self.name, declaration.name, ENTRY, lowered.text, location, settings, arguments, own)

    def files(self, source: Source) -> tuple[Path, ...]:
        """None: a function is what it was when Python made it."""
        return ()

    def compiler_identity(self) -> str:
        """The versions of Numba's CUDA target and of llvmlite."""
        return f"Numba's CUDA target {PACKAGE.installed_version()}, {llvmlite_identity()}"

    def compile(self, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
        """As LLVM IR: see ``adapters.common.device_llvm``."""
        start = time.perf_counter()
        ir = DeviceIR(
            source.text, source.symbol, source.location, self.compiler_identity(), 0.0, is_valid=True,
            libraries=source.libraries,
        )  # fmt: skip
        output = compile_device_ir(ir, source.name, bound, target)
        return replace(output, seconds=time.perf_counter() - start)

    def as_launched_kernel(self, declaration: Declaration, source: Source, options: Mapping[str, Any]) -> ArrayKernel:
        """The function as a kernel of its own, which takes arrays as Numba does."""
        is_kernel = source.signature is not None and source.signature.result is None
        return ArrayKernel(make_whole_kernel(self, declaration, source, options, is_kernel), source)

    def prototype(self, source: Source | None, signature: Signature) -> str:
        """The LLVM function that a region calls."""
        return prototype_text(source.symbol if source else signature.name, signature)


def _is_dispatcher(candidate: object) -> bool:
    return type(candidate).__module__.startswith("numba.") and hasattr(candidate, "py_func")


def _function(candidate: Any) -> Any:
    if _is_dispatcher(candidate) and "cuda" not in type(candidate).__module__:
        raise FragmentSourceError(
            "this function was compiled by Numba for the CPU", hint="decorate it with numba.cuda.jit(device=True)"
        )
    return candidate.py_func if _is_dispatcher(candidate) else candidate


def _target_options(candidate: Any) -> dict[str, Any]:
    """What ``@cuda.jit`` was given.

    Raises
    ------
    UnsupportedFeatureError : an option that a linked function cannot have.
    """
    options = dict(getattr(candidate, "targetoptions", {}))
    for name, value in options.items():
        if value and name not in _IGNORED:
            raise UnsupportedFeatureError(
                f"a fragment cannot have the option {name}= of @cuda.jit",
                hint="debug checks and linked files are for Numba's own launches; leave it out",
            )
    return options


def _capability(value: Any) -> tuple[int, int]:
    if not isinstance(value, (list, tuple)) or len(value) != 2 or not all(type(n) is int for n in value):
        raise wrong_type("capability", "that of a GPU, such as (9, 0)", value)
    return value[0], value[1]


def _check_result(signature: Signature, result: Any) -> None:
    got = dtype_of(result, "result") if result is not None else None
    wanted = signature.result.dtype if signature.result is not None else None
    if got != wanted:
        raise DialectError(
            f"the function returns {got or 'nothing'}, and its signature says {wanted or 'nothing'}",
            hint="Numba computes integers in 64 bits, and mixed floats in double: convert it, float32(…)",
        )


def _location(function: Any, declared: SourceLocation) -> SourceLocation:
    found = location_of_function(function)
    return found if found.text else declared
