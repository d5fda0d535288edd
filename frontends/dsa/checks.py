"""What is checked of the arguments of ``tle.dsa``, before anything is lowered."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row, ShapeError
from tle_raw.frontends.dsa.local_buffer import local_buffer
from tle_raw.frontends.lite.arguments import describe_value, is_integer, is_scalar_integer, items, plain


def check_shape(function: str, name: str, value: Any) -> tuple[int, ...]:
    """A shape of compile-time powers of two, as Triton's block tensors have.

    Raises
    ------
    ShapeError : it is another thing.
    """
    dims = items(value)
    if not dims or not all(is_integer(dim) and dim > 0 and dim & (dim - 1) == 0 for dim in dims):
        got = str(dims) if dims and all(map(is_integer, dims)) else describe_value(value)
        raise ShapeError(
            f"tle.dsa.{function}: the dims of a buffer are compile-time powers of two, like those of block tensors",
            table=[Row(name, "e.g. [16, 64]", got)],
            hint="what is shorter is copied with its own sizes: tle.dsa.copy(pointers, buffer, [rows, columns])",
        )
    return tuple(dims)


def check_buffer(function: str, name: str, value: Any) -> local_buffer:
    """A buffer in a local memory."""
    value = plain(value)
    if not isinstance(value, local_buffer):
        raise ArgumentTypeError(
            f"tle.dsa.{function} takes a buffer in a local memory",
            table=[Row(name, "a buffer of tle.dsa.alloc or tle.dsa.to_buffer", describe_value(value))],
        )
    return value


def check_tensor(function: str, name: str, value: Any) -> core.tensor:
    """A block tensor of numbers."""
    value = plain(value)
    if not isinstance(value, core.tensor) or not value.type.is_block() or value.dtype.is_ptr():
        raise ArgumentTypeError(
            f"tle.dsa.{function} takes a block tensor of numbers",
            table=[Row(name, "a block tensor", describe_value(value))],
        )
    return value


def check_numbers(function: str, name: str, value: Any, rank: int) -> list[int | core.tensor]:
    """An integer for each axis: constants, or scalars of the kernel.

    Raises
    ------
    ShapeError : there are fewer or more. ArgumentTypeError : something else than integers.
    """
    numbers = items(value)
    if numbers is None:
        numbers = [plain(value)]
    if len(numbers) != rank:
        raise ShapeError(
            f"tle.dsa.{function}: one number for each axis", table=[Row(name, f"{rank} integers", f"{len(numbers)}")]
        )
    for axis, number in enumerate(numbers):
        if not is_integer(number) and not is_scalar_integer(number):
            raise ArgumentTypeError(
                f"tle.dsa.{function}: {name} are integers, constants or scalars of the kernel",
                table=[Row(f"{name}[{axis}]", "an integer", describe_value(number))],
            )
    return numbers


def check_constants(function: str, name: str, value: Any, rank: int) -> tuple[int, ...]:
    """A positive compile-time integer for each axis.

    Raises
    ------
    ShapeError : there are fewer or more, or one is no such number.
    """
    numbers = items(value)
    if numbers is None:
        numbers = [plain(value)]
    if len(numbers) != rank or not all(is_integer(number) and number > 0 for number in numbers):
        raise ShapeError(
            f"tle.dsa.{function}: {name} are positive compile-time integers, one for each axis",
            table=[Row(name, f"{rank} of them", describe_value(value))],
        )
    return tuple(numbers)


def check_inside(
    function: str, whole: tuple[int, ...], offsets: list[Any], sizes: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    """What is constant of a part lies within the whole.

    Raises
    ------
    ShapeError : it does not.
    """
    for axis, (dim, offset, size, stride) in enumerate(zip(whole, offsets, sizes, strides)):
        first = offset if is_integer(offset) else 0
        last = first + (size - 1) * stride
        if first < 0 or last >= dim:
            raise ShapeError(
                f"tle.dsa.{function}: the part lies beyond the whole",
                table=[Row(f"axis {axis}: first, last", f"within 0 to {dim - 1}", f"{first}, {last}")],
            )
