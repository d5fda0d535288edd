"""The arguments of the call to the user's function, one by one: what is passed and what C++ type it fits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tle_raw.adapters.cpp.spelling import expected_type
from tle_raw.fragments.bound import ELEMENT, POINTER, TILE, BoundParameter, BoundSignature


@dataclass(frozen=True)
class CallArgument:
    """One argument.

    ``exact`` is an expression that converts to the expected type only; ``plain`` is one of that type, for
    parameters whose type the compiler deduces; ``pointer`` is ``plain`` where a pointer is deduced.
    """

    what: str
    expected: str
    exact: str
    plain: str
    pointer: str
    bound: BoundParameter | None = None

    def argument(self, written: str | None) -> str:
        """The expression for a parameter: ``written`` is its text when its type is deduced, else None."""
        if written is None:
            return self.exact
        if re.search(r"\b(tile|buffer)< *const\b", written):
            return f"{self.plain}.as_const()"  # no conversion happens in deduction
        return self.pointer if "*" in written else self.plain


def local(index: int) -> str:
    """Name of the local variable that holds the n-th crossing parameter in the entry function."""
    return f"tle_raw_argument_{index}"


def ports(bound: BoundSignature) -> tuple[CallArgument, ...]:
    """All arguments in the order of the call."""
    return tuple(port for index, p in enumerate(bound.crossing) for port in _of(p, local(index)))


def _of(parameter: BoundParameter, name: str) -> Iterator[CallArgument]:
    expected = expected_type(parameter)
    if parameter.is_memref:
        yield from _memref(parameter, name)
    elif parameter.kind == TILE:
        yield CallArgument(parameter.name, expected, name, f"{name}.plain()", f"{name}.data()", parameter)
    elif parameter.kind == POINTER:
        yield CallArgument(parameter.name, expected, name, f"{name}.data()", f"{name}.data()", parameter)
    elif parameter.kind == ELEMENT and parameter.effect != "In":
        yield CallArgument(parameter.name, expected, name, f"{name}.value", f"(&{name}.value)", parameter)
    else:
        yield CallArgument(parameter.name, expected, name, f"{name}.value", f"{name}.value", parameter)


def _memref(parameter: BoundParameter, name: str) -> Iterator[CallArgument]:
    """FlagTree's way: two pointers, an offset, the sizes, the strides."""
    assert parameter.dtype is not None
    pointer = f"{parameter.dtype.cxx} __attribute__((address_space(3)))*"
    for part in ("allocated", "aligned"):
        yield CallArgument(f"{parameter.name}.{part}", pointer, name, f"{name}.value", f"{name}.value", parameter)
    strides = [1]
    for dim in reversed(parameter.dims[1:]):
        strides.insert(0, strides[0] * dim)
    numbers = [("offset", 0)]
    numbers += [(f"size{i}", dim) for i, dim in enumerate(parameter.dims)]
    numbers += [(f"stride{i}", stride) for i, stride in enumerate(strides)]
    for part, number in numbers:
        yield CallArgument(f"{parameter.name}.{part}", "int64_t", f"{number}LL", f"{number}LL", f"{number}LL")
