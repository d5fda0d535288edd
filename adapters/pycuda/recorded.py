"""What PyCUDA's own objects were made of: a finished module keeps no source, so it is noted when it is made."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from typing import Any

from tle_raw.adapters.pycuda.elementwise import ElementwiseKernel
from tle_raw.adapters.pycuda.reduction import ReductionKernel
from tle_raw.adapters.pycuda.scan import ExclusiveScanKernel, InclusiveScanKernel
from tle_raw.adapters.pycuda.source_module import SourceModule
from tle_raw.errors import FragmentSourceError, ToolchainError
from tle_raw.fragments.adapter import Declaration

_NOTE = "_tle_raw_made_of"
_MAKERS: dict[str, Callable[..., Any]] = {
    "ReductionKernel": ReductionKernel,
    "InclusiveScanKernel": InclusiveScanKernel,
    "ExclusiveScanKernel": ExclusiveScanKernel,
}
_NOTED = ("SourceModule", *_MAKERS)


def is_pycuda_object(candidate: object) -> bool:
    return type(candidate).__module__.split(".")[0] == "pycuda"


def remember() -> None:
    """From here on, PyCUDA's modules, functions, reductions and scans can be given to ``tle_raw.fragment``.

    Call it once, before they are made. ElementwiseKernels need it not: they keep what they were made of.

    Raises
    ------
    ToolchainError : PyCUDA, or the CUDA driver that it loads, is missing.
    """
    try:
        from pycuda import compiler, reduction
    except ImportError as error:
        raise ToolchainError(
            f"PyCUDA cannot be imported: {error}",
            hint="tle_raw.pycuda.SourceModule, ElementwiseKernel and ReductionKernel need neither PyCUDA nor a driver",
        ) from error
    _note_arguments(compiler.SourceModule)
    _note_functions(compiler.SourceModule)
    _note_arguments(reduction.ReductionKernel)
    with suppress(ImportError):  # PyCUDA's scans need Mako: without it there are none
        from pycuda import scan

        _note_arguments(scan.InclusiveScanKernel)
        _note_arguments(scan.ExclusiveScanKernel)


def _note_arguments(kind: Any) -> None:
    made = kind.__init__
    if hasattr(made, _NOTE):
        return

    @wraps(made)
    def make(self: Any, *arguments: Any, **keywords: Any) -> None:
        setattr(self, _NOTE, (arguments, keywords))
        made(self, *arguments, **keywords)

    setattr(make, _NOTE, True)
    kind.__init__ = make


def _note_functions(kind: Any) -> None:
    found = kind.get_function
    if hasattr(found, _NOTE):
        return

    @wraps(found)
    def get(self: Any, name: str) -> Any:
        function = found(self, name)
        setattr(function, _NOTE, (self, name))
        return function

    setattr(get, _NOTE, True)
    kind.get_function = get


def declaration_of(declaration: Declaration) -> Declaration:
    """The declaration of a PyCUDA object, with its text.

    Raises
    ------
    FragmentSourceError : the object was made before ``remember()``, or is of a kind that gives no fragment.
    """
    wrapped = declaration.wrapped
    made = _made(wrapped, dict(declaration.options))
    kept: Declaration = made._declaration
    options = {**kept.options, **{k: v for k, v in declaration.options.items() if k != "symbol"}}
    signature = declaration.signature or kept.signature
    return replace(kept, options=options, signature=signature, location=declaration.location)


def _made(wrapped: Any, options: dict[str, Any]) -> Any:
    """The fragment that our own class of the same name makes of the same arguments."""
    kind = type(wrapped).__name__
    if kind == "ElementwiseKernel":
        return ElementwiseKernel(**wrapped.gen_kwargs)
    note = getattr(wrapped, _NOTE, None)
    if kind == "Function" and note is not None:
        module, name = note
        return _module_of(module).get_function(name)
    if kind == "SourceModule" and note is not None:
        if not isinstance(options.get("symbol"), str):
            raise FragmentSourceError(
                "a SourceModule holds functions, and nobody says which one is meant",
                hint='write symbol="name", or give the function: module.get_function("name")',
            )
        return _module_of(wrapped).get_function(options["symbol"])
    if kind in _NOTED and note is not None:
        return _MAKERS[kind](*note[0], **note[1])
    if kind in (*_NOTED, "Function"):
        raise FragmentSourceError(
            f"this {kind} does not tell what it was made of",
            hint="call tle_raw.pycuda.remember() before it is made, or give its arguments to tle_raw.pycuda." + kind
            if kind != "Function"
            else "call tle_raw.pycuda.remember() before its module is made",
        )
    raise FragmentSourceError(
        f"PyCUDA's {kind} gives no fragment",
        hint="modules, functions, elementwise, reduction and scan kernels do",
    )


def _module_of(module: Any) -> Any:
    arguments, keywords = getattr(module, _NOTE)
    return SourceModule(*arguments, **keywords)
