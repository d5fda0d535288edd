"""Whether a function's parameters have one meaning only, where the signature lets a constant be left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from tle_raw.adapters.common.device_llvm.forms import PLAIN, Layout, LlvmArgument, forms_of, of_form
from tle_raw.fragments.bound import CONST, BoundParameter, BoundSignature
from tle_raw.linker.llvm.functions import FunctionType


def left_out(bound: BoundSignature, layout: Layout) -> tuple[BoundParameter, ...]:
    """The parameters of the signature that the function does not take."""
    taken = {argument.parameter.name for argument in layout.arguments}
    return tuple(p for p in bound.parameters if p.name not in taken)


def other_meaning(
    bound: BoundSignature, layout: Layout, function: FunctionType, names: Sequence[str]
) -> BoundParameter | None:
    """A parameter that ``layout`` leaves out, and that one of the function's may be after all.

    ``f(i32)`` under a signature of a tile and a constant is either: a tile's shared address, and the constant is left
    out, or the constant, and the tile was forgotten. ``names``, which the function gives its parameters, decide where
    they are the signature's; "" where there is none. A memref's size that is named after a constant of the same value
    is that constant.
    """
    absent = left_out(bound, layout)
    named = {p.name.casefold() for p in bound.parameters}
    known = [name.casefold() if name.casefold() in named else "" for name in names]
    for parameter in absent:
        passed = [argument for argument, name in zip(layout.arguments, known) if name == parameter.name.casefold()]
        if any(argument.value is None or argument.value != parameter.value for argument in passed):
            return parameter
    for parameter in absent:
        if parameter.kind == CONST and _can_be_read(bound, parameter, function, known):
            return parameter
    return None


def _can_be_read(bound: BoundSignature, constant: BoundParameter, function: FunctionType, names: Sequence[str]) -> bool:
    """Whether parameters of the signature, ``constant`` among them and others forgotten, are what is taken."""
    choices = [[of_form(p, form) for form in ([PLAIN] if p.kind == CONST else forms_of(p))] for p in bound.parameters]
    must = bound.parameters.index(constant)
    fits = _fits(function, names)

    @cache
    def rest(index: int, position: int) -> bool:
        if index == len(choices):
            return position == len(function.parameters)
        if index != must and rest(index + 1, position):
            return True
        return any(
            arguments and fits(arguments, position) and rest(index + 1, position + len(arguments))
            for arguments in choices[index]
        )

    return rest(0, 0)


def _fits(function: FunctionType, names: Sequence[str]) -> Callable[[Sequence[LlvmArgument], int], bool]:
    def fits(arguments: Sequence[LlvmArgument], position: int) -> bool:
        written = function.parameters[position : position + len(arguments)]
        called = names[position : position + len(arguments)]
        return len(written) == len(arguments) and all(
            type_ in argument.accepted and name in ("", argument.parameter.name.casefold())
            for argument, type_, name in zip(arguments, written, called, strict=True)
        )

    return fits
