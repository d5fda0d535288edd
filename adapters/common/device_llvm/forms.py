"""How a function takes what the signature passes: one form for each parameter, told from its LLVM type."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from tle_raw.fragments.bound import CONST, ELEMENT, POINTER, TILE, BoundParameter, BoundSignature
from tle_raw.fragments.dtypes import DType
from tle_raw.linker.llvm.functions import FunctionType

SHARED, GENERIC, GLOBAL, ADDRESS, LAYOUT = "ptr addrspace(3)", "ptr", "ptr addrspace(1)", "i32", "i64"
# The forms. A tile is one parameter or a memref descriptor; a constant may be absent; an element that is updated
# comes back through a pointer, or as the function's result.
PLAIN, DESCRIPTOR, ABSENT, POINTED, RETURNED, MADE = "plain", "descriptor", "absent", "pointed", "returned", "made"
MOST_SEARCHED = 1 << 10


@dataclass(frozen=True)
class LlvmArgument:
    """One argument of the call: ``part`` is "" or a piece of a memref descriptor; ``accepted`` are LLVM types."""

    parameter: BoundParameter
    part: str
    accepted: tuple[str, ...]
    value: int | None = None

    @property
    def what(self) -> str:
        return f"{self.parameter.name}.{self.part}" if self.part else self.parameter.name


@dataclass(frozen=True)
class Layout:
    """The arguments of a call, and the LLVM types that its result may have."""

    arguments: tuple[LlvmArgument, ...]
    results: tuple[str, ...]

    def fits(self, function: FunctionType) -> bool:
        return (
            len(self.arguments) == len(function.parameters)
            and all(written in a.accepted for a, written in zip(self.arguments, function.parameters))
            and function.result in self.results
        )


def layouts(bound: BoundSignature) -> Iterator[Layout]:
    """Every list of arguments that the signature allows, the likeliest first."""
    choices = [forms_of(p) for p in bound.parameters]
    constants = [PLAIN, ABSENT] if any(p.kind == CONST for p in bound.parameters) else [PLAIN]
    for constant in constants:
        ways = [[constant] if p.kind == CONST else c for p, c in zip(bound.parameters, choices)]
        for forms in itertools.islice(itertools.product(*ways), MOST_SEARCHED):
            yield _layout(bound, forms)


def find_layout(bound: BoundSignature, function: FunctionType) -> Layout | None:
    """The forms under which the function takes what is passed, or None."""
    return next((layout for layout in layouts(bound) if layout.fits(function)), None)


def value_types(dtype: DType) -> tuple[str, ...]:
    """A value's LLVM type; a bool also as a byte."""
    return ("i1", "i8") if dtype.name == "i1" else (dtype.llvm,)


def forms_of(parameter: BoundParameter) -> list[str]:
    """The forms that a function may take a parameter in, the likeliest first; a constant is also left out."""
    if parameter.is_descriptor:
        return [PLAIN]
    if parameter.kind == TILE:
        return [DESCRIPTOR, PLAIN] if parameter.is_memref else [PLAIN, DESCRIPTOR]
    if parameter.kind == ELEMENT and parameter.effect != "In":
        return [POINTED, RETURNED, MADE] if parameter.effect == "Out" else [POINTED, RETURNED]
    return [PLAIN]


def _layout(bound: BoundSignature, forms: tuple[str, ...]) -> Layout:
    arguments = tuple(a for p, form in zip(bound.parameters, forms) for a in of_form(p, form))
    returned = [p.dtype for p, form in zip(bound.parameters, forms) if form in (RETURNED, MADE)]
    dtype = bound.result or next(iter(returned), None)
    if bound.result and bound.result.llvm == LAYOUT:
        return Layout(arguments, (LAYOUT, GENERIC))  # an address is a number for the kernel
    return Layout(arguments, value_types(dtype) if dtype else ("void",))


def of_form(parameter: BoundParameter, form: str) -> tuple[LlvmArgument, ...]:
    """The arguments of the call by which a parameter is passed."""
    return tuple(_arguments(parameter, form))


def _arguments(parameter: BoundParameter, form: str) -> Iterator[LlvmArgument]:
    if form in (ABSENT, MADE):
        return
    if form == DESCRIPTOR:
        yield from _descriptor(parameter)
    elif form == POINTED:
        yield LlvmArgument(parameter, "", (GENERIC,))
    elif parameter.is_descriptor:
        yield LlvmArgument(parameter, "", (GENERIC, LAYOUT))
    elif parameter.kind == TILE:
        yield LlvmArgument(parameter, "", (SHARED, GENERIC, ADDRESS))
    elif parameter.kind == POINTER:
        yield LlvmArgument(parameter, "", (GLOBAL, GENERIC))
    elif parameter.kind == CONST:
        assert parameter.value is not None
        yield LlvmArgument(parameter, "", _integers(parameter.value), parameter.value)
    else:
        assert parameter.dtype is not None
        yield LlvmArgument(parameter, "", value_types(parameter.dtype))


def _integers(value: int) -> tuple[str, ...]:
    """The integer types that hold a constant."""
    return tuple(f"i{bits}" for bits in (32, 64, 16, 8) if -(1 << (bits - 1)) <= value < 1 << bits)


def _descriptor(parameter: BoundParameter) -> Iterator[LlvmArgument]:
    """A memref's parts: two pointers, an offset, the sizes, the strides."""
    for part in ("allocated", "aligned"):
        yield LlvmArgument(parameter, part, (SHARED, GENERIC))
    strides = [1]
    for dim in reversed(parameter.dims[1:]):
        strides.insert(0, strides[0] * dim)
    yield LlvmArgument(parameter, "offset", (LAYOUT,), 0)
    for part, numbers in (("size", parameter.dims), ("stride", strides)):
        for index, number in enumerate(numbers):
            yield LlvmArgument(parameter, f"{part}{index}", (LAYOUT,), number)
