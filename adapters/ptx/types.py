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
    plain = FunctionType(f"i{result * 8}" if result else "void", tuple(f"i{size * 8}" for size in parameters))
    raise mismatch(bound, Callee(symbol, plain, "", ("",) * len(parameters), ("",) * len(parameters), location))


def _fitting(accepted: tuple[str, ...], size: int) -> str:
    """Of the accepted types one of that size: a pointer as C has it first."""
    ordered = sorted(accepted, key=lambda type_: type_ != GENERIC)
    return next((type_ for type_ in ordered if fits(type_, size)), "")
