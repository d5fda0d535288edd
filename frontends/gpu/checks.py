"""What is checked of the arguments of ``tle.gpu``, before anything is lowered: the seeds' ``TLESemantic``."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row, ShapeError, SharedBufferError
from tle_raw.frontends.gpu.buffered_tensor import TMEM, buffered_tensor
from tle_raw.frontends.lite.arguments import describe_value, is_integer, is_scalar_integer, items, plain


def check_shape(function: str, name: str, value: Any) -> tuple[int, ...]:
    """A shape of compile-time integers, one at least, all positive.

    Raises
    ------
    ShapeError : it is another thing.
    """
    dims = items(value)
    if dims is None and is_integer(plain(value)):
        dims = [plain(value)]
    if not dims or not all(is_integer(dim) and dim > 0 for dim in dims):
        raise ShapeError(
            f"tle.gpu.{function}: a shape is made of positive compile-time integers",
            table=[Row(name, "e.g. [64, 64]", describe_value(value))],
        )
    return tuple(dims)


def check_constant(function: str, name: str, value: Any) -> int:
    """A compile-time integer."""
    value = plain(value)
    if not is_integer(value):
        raise ArgumentTypeError(
            f"tle.gpu.{function}: {name} is known at compile time",
            table=[Row(name, "an integer", describe_value(value))],
        )
    return int(value)


def counted(function: str, what: str, name: str, value: Any, dtype: Any, semantic: Any) -> core.tensor:
    """A count of ``what``, an integer of the kernel's or a constant, as a scalar of that type."""
    given = plain(value)
    if not is_integer(given) and not is_scalar_integer(given):
        raise ArgumentTypeError(
            f"tle.gpu.{function}: {what} are counted",
            table=[Row(name, "an integer, or a scalar of integers", describe_value(value))],
        )
    return semantic.cast(semantic.to_tensor(given), dtype)


def check_flag(function: str, name: str, value: Any) -> bool:
    """A compile-time truth."""
    value = plain(value)
    if not isinstance(value, (bool, int)):
        raise ArgumentTypeError(
            f"tle.gpu.{function}: {name} is known at compile time",
            table=[Row(name, "True or False", describe_value(value))],
        )
    return bool(value)


def check_dtype(function: str, name: str, value: Any) -> Any:
    """A dtype of numbers."""
    value = plain(value)
    if not isinstance(value, core.dtype) or value.is_ptr() or value.is_block() or value == core.void:
        raise ArgumentTypeError(
            f"tle.gpu.{function}: a buffer holds numbers",
            table=[Row(name, "e.g. tl.float16", describe_value(value))],
        )
    return value


def check_buffer(function: str, name: str, value: Any) -> Any:
    """A buffer that was not freed."""
    value = plain(value)
    if not is_buffer(value):
        raise ArgumentTypeError(
            f"tle.gpu.{function} takes a buffer",
            table=[Row(name, "a buffer of tle.gpu.alloc", describe_value(value))],
        )
    value.storage.check_alive(function)
    return value


def check_in_shared_memory(function: str, name: str, buffer: Any) -> None:
    """The buffer does not lie in tensor memory.

    Raises
    ------
    SharedBufferError : it does.
    """
    if buffer.type.space == TMEM:
        raise SharedBufferError(
            f"tle.gpu.{function}: tensor memory is read and written as a tile, and by products",
            table=[Row(name, "a buffer in shared memory", "one in tensor memory")],
            hint="take what it holds: buffer.load()",
        )


def is_buffer(value: Any) -> bool:
    """Whether it is a buffer."""
    return isinstance(value, buffered_tensor)


def check_whole_tensor(function: str, type_: Any) -> None:
    """The buffer's elements can be one block tensor of Triton's.

    Raises
    ------
    SharedBufferError : it has slots, or a dim that is no power of two.
    """
    if type_.has_slots:
        raise SharedBufferError(
            f"tle.gpu.{function}: the buffer's first axis counts slots",
            table=[Row("buffer", f"a slot {list(type_.shape[1:])}", str(list(type_.shape)))],
            hint="take one with .slot(i); a layout of the buffer's own rank, given to alloc, makes it one tile",
        )
    if type_.shape != type_.memory:
        raise SharedBufferError(
            f"tle.gpu.{function}: the dims of a block tensor are powers of two",
            table=[Row("buffer", f"e.g. {list(type_.memory)}", str(list(type_.shape)))],
            hint="take a part with .subslice(start, length, dim)",
        )
    elements = 1
    for dim in type_.shape:
        elements *= dim
    if elements > core.TRITON_MAX_TENSOR_NUMEL:
        raise ShapeError(
            "a block tensor of Triton cannot have so many elements",
            table=[Row("buffer", f"at most {core.TRITON_MAX_TENSOR_NUMEL} elements", str(list(type_.shape)))],
        )
