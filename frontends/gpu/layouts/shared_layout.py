"""What the layouts of shared memory have in common, and how their parts are checked."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeVar

from triton.language import core

from tle_raw.errors import LayoutError, Row
from tle_raw.frontends.lite.arguments import is_integer, items, plain

F = TypeVar("F", bound=Callable[..., Any])
_LARGEST = 1 << 16


def called_in_kernels(function: F) -> F:
    """A function of Python that kernels may call while they are traced."""
    setattr(function, core.TRITON_BUILTIN, True)
    return function


class MadeInKernels(ABCMeta):
    """Of classes whose objects kernels make: Triton tells what goes wrong there by the error itself."""


setattr(MadeInKernels, core.TRITON_BUILTIN, True)


class shared_layout(metaclass=MadeInKernels):
    """A layout of shared memory. One of rank r holds a buffer of rank r, or slots of rank r in one of rank r + 1."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """How many axes it lays out."""

    @abstractmethod
    def make_permute(self, dims: Sequence[int]) -> shared_layout:
        """The layout of the same memory with its axes in another order."""

    @abstractmethod
    def to_ir(self, builder: Any) -> Any:
        """The attribute, made by a ``GluonOpBuilder``."""

    @abstractmethod
    def check(self, shape: Sequence[int], bits: int) -> None:
        """Raise a LayoutError where a slot of this shape, of elements of so many bits, cannot have it."""

    @property
    @abstractmethod
    def text(self) -> str:
        """In the name of a function that is specialised for it, and in errors."""

    @property
    def is_plain(self) -> bool:
        """Rows behind each other without gaps: a view of another shape is one of the same memory."""
        return False

    def bytes(self, shape: Sequence[int], bits: int) -> int:
        """What a slot takes."""
        return prod(shape) * bits // 8

    @property
    def alignment(self) -> int:
        """At what multiple of bytes a slot must begin."""
        return 16


def memory_bits(dtype: Any) -> int:
    """The width of an element in memory: a bool takes a byte."""
    return max(8, int(dtype.primitive_bitwidth))


def check_rank(layout: shared_layout, shape: Sequence[int]) -> None:
    if layout.rank != len(shape):
        raise LayoutError(
            "the layout is of another rank than the buffer",
            table=[Row("rank", str(len(shape)), str(layout.rank))],
        )


def check_one_block(name: str, *clusters: Any) -> None:
    for given in clusters:
        values = items(given) if plain(given) is not None else []
        values = [plain(given)] if values is None else values
        if any(value != 1 for value in values):
            raise LayoutError(f"{name}: a buffer lies in the shared memory of one block", hint="leave the CTAs out")


def check_power(name: str, what: str, value: Any) -> int:
    value = plain(value)
    if not is_integer(value) or not 0 < value <= _LARGEST or value & (value - 1):
        raise LayoutError(f"{name} is made of powers of two", table=[Row(what, "a power of two", repr(value))])
    return int(value)


def check_permutation(name: str, what: str, value: Any, rank: int | None = None) -> tuple[int, ...]:
    given = items(value)
    wanted = range(len(given or ()) if rank is None else rank)
    if not given or not all(map(is_integer, given)) or sorted(given) != list(wanted):
        expected = f"each of 0 to {len(wanted) - 1} once" if len(wanted) else "each axis once"
        raise LayoutError(f"{name}: the axes in some order", table=[Row(what, expected, str(value))])
    return tuple(given)
