"""The types by which a PTX function is called: it states sizes only, and the signature says what they hold."""

from __future__ import annotations

from tle_raw.adapters.common.device_llvm.callee import Callee
from tle_raw.adapters.common.device_llvm.forms import GENERIC, layouts
from tle_raw.adapters.common.device_llvm.mismatch import mismatch
from tle_raw.errors import SourceLocation
from tle_raw.fragments.bound import BoundSignature
from tle_raw.linker.from_ptx.function import fits
from tle_raw.linker.inputs.library import LinkLibrary
from tle_raw.linker.llvm.functions import FunctionType


def types_of_call(
    library: LinkLibrary, symbol: str, bound: BoundSignature, location: SourceLocation
) -> FunctionType | None:
    """Types of the signature's parameters that have the sizes of the function's own; None where it has types itself.

    Raises
    ------
    SignatureMismatchError : none of the ways in which the signature can be passed has these sizes.
    """
    sizes = library.sizes(symbol)
    if sizes is None:
        return None
    parameters, result = sizes
    for layout in layouts(bound):
        if len(layout.arguments) != len(parameters):
            continue
        chosen = [_fitting(argument.accepted, size) for argument, size in zip(layout.arguments, parameters)]
        returned = _fitting(layout.results, result) if result else "void" if "void" in layout.results else ""
        if all(chosen) and returned:
            return FunctionType(returned, tuple(chosen))
    nothing = ("",) * len(parameters)
    raise mismatch(bound, Callee(symbol, _shown(bound, parameters, result), "", nothing, nothing, location))


def _shown(bound: BoundSignature, parameters: tuple[int, ...], result: int) -> FunctionType:
    """The function's type for a message: the signature's where the size is right, else an integer of the size."""
    layout = next((each for each in layouts(bound) if len(each.arguments) == len(parameters)), None)
    accepted = [argument.accepted for argument in layout.arguments] if layout else [()] * len(parameters)
    types = tuple(_fitting(each, size) or f"i{size * 8}" for each, size in zip(accepted, parameters))
    results = layout.results if layout else ()
    return FunctionType((_fitting(results, result) or f"i{result * 8}") if result else "void", types)


def _fitting(accepted: tuple[str, ...], size: int) -> str:
    """Of the accepted types one of that size: a pointer as C has it first."""
    ordered = sorted(accepted, key=lambda type_: type_ != GENERIC)
    return next((type_ for type_ in ordered if fits(type_, size)), "")
