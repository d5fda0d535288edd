"""What CuPy's own objects were made of. They keep their CUDA text, whether it was compiled or not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tle_raw.adapters.cupy import elementwise, reduction
from tle_raw.adapters.cupy.installed import check_version, headers
from tle_raw.errors import DialectError, FragmentSourceError, UnsupportedFeatureError
from tle_raw.fragments.adapter import Declaration
from tle_raw.fragments.signature import Signature
from tle_raw.linker.machine_code.demangle import demangle

_GENERATED = {"ElementwiseKernel": ("types",), "ReductionKernel": ("types", "scalars", "axis")}
_COMPLEX_HEADER = re.compile(r"^([ \t]*#[ \t]*include[ \t]*)[<\"]cuComplex\.h[>\"]", re.MULTILINE)


def is_cupy_object(candidate: object) -> bool:
    return type(candidate).__module__.split(".")[0] in ("cupy", "cupyx", "cupy_backends")


def declaration_of(declaration: Declaration) -> Declaration:
    """The declaration of a CuPy object, with its text.

    Raises
    ------
    ToolchainError : a version of CuPy that was never tried.
    FragmentSourceError : the object is of a kind that keeps no CUDA text. DialectError : an option is missing or wrong.
    UnsupportedFeatureError : a region cannot do what the object asks for.
    """
    kind = type(declaration.wrapped).__name__
    if kind in _GENERATED:
        check_version()
        return _generated(declaration, kind)
    if kind in ("RawKernel", "RawModule"):
        check_version()
        return _raw(declaration, kind)
    raise FragmentSourceError(_refusal(kind), hint="RawKernel, RawModule, ElementwiseKernel and ReductionKernel do")


def _refusal(kind: str) -> str:
    if kind == "_JitRawKernel":
        return "a kernel of cupyx.jit gives no fragment: its CUDA text is written at a launch, for arrays as structs"
    if kind == "Function":
        return "a compiled function of CuPy's gives no fragment: it is machine code, and keeps no CUDA text"
    return f"CuPy's {kind} gives no fragment"


def _raw(declaration: Declaration, kind: str) -> Declaration:
    kernel = declaration.wrapped
    if not kernel.code:
        raise FragmentSourceError(
            f"this {kind} was made of the compiled file {kernel.file_path}, and holds no CUDA text",
            hint="make it of code=, or give the .cu file to tle_raw.fragment",
        )
    if kernel.enable_cooperative_groups:
        raise UnsupportedFeatureError(
            f"this {kind} has enable_cooperative_groups, and a Triton kernel is launched without",
            hint="its blocks cannot wait for each other; leave it out where they do not",
        )
    options = {name: value for name, value in declaration.options.items() if value is not None}
    symbol = options.pop("symbol", None)
    if kind == "RawKernel" and symbol is None:
        symbol = _written_name(kernel.name)
    if not isinstance(symbol, str):
        known = ", ".join(kernel.name_expressions or ())
        raise FragmentSourceError(
            "a RawModule holds functions, and nobody says which one is meant",
            hint=f'write symbol="name"{f", one of {known}" if known else ""}, or give module.get_function("name")',
        )
    text = str(kernel.code)
    kept = {"source": text, "symbol": symbol, "options": tuple(kernel.options), **options}
    state = kernel.__getstate__() if kind == "RawKernel" else None
    if isinstance(state, Mapping) and state.get("translate_cucomplex"):
        kept["source"] = _COMPLEX_HEADER.sub(r"\1<cupy/cuComplex_bridge.h>", text)
        kept["flags"] = [*options.get("flags", ()), *(f"-include{path}/cupy/complex.cuh" for path in headers())]
    given = declaration.signature
    name = given.name if given is not None else symbol.partition("<")[0].strip().rpartition("::")[2]
    return replace(declaration, name=name, options=kept, wrapped=text)


def _generated(declaration: Declaration, kind: str) -> Declaration:
    own = _GENERATED[kind]
    given = {name: value for name, value in declaration.options.items() if name in own}
    others = {n: v for n, v in declaration.options.items() if n not in own and v is not None}
    if others or declaration.signature is not None:
        what = next(iter(others), "signature")
        raise DialectError(
            f"{what}= is not for an {kind}: its parameters and its operation say everything",
            hint=f"it takes {', '.join(f'{name}=' for name in own)}",
        )
    kernel, types, location = declaration.wrapped, given.get("types", {}), declaration.location
    made: tuple[Signature, str, Any]
    if kind == "ElementwiseKernel":
        made, symbol = elementwise.elementwise(kernel, types, location), elementwise.SYMBOL
    else:
        made = reduction.reduction(kernel, types, given.get("scalars", ()), given.get("axis"), location)
        symbol = reduction.SYMBOL
    signature, text, options = made
    kept = {"source": text, "symbol": symbol, "options": tuple(options)}
    return replace(declaration, name=signature.name, signature=signature, options=kept, wrapped=text)


def _written_name(name: str) -> str:
    """``g<float>`` of ``_Z1gIfEvPT_``: functions of modules with name_expressions have their linker's names."""
    readable = demangle(name)
    if readable == name:
        return name
    depth, end = 0, len(readable)
    for position, character in enumerate(readable):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0:
            end = position
            break
    depth, begin = 0, 0
    for position in range(end - 1, -1, -1):
        depth += (readable[position] == ">") - (readable[position] == "<")
        if readable[position] == " " and depth == 0:
            begin = position + 1
            break
    return readable[begin:end]
