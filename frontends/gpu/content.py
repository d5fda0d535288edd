"""Methods of buffers: their content as block tensors, and its end."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row, ShapeError, SharedBufferError
from tle_raw.frontends.call_site import call_site
from tle_raw.frontends.gpu import operations
from tle_raw.frontends.gpu.buffered_tensor import TMEM, BufferType, tensor_type
from tle_raw.frontends.gpu.checks import check_buffer, check_whole_tensor
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.lite.arguments import describe_value, plain
from tle_raw.regions.interpret import interpreted_call_site
from tle_raw.regions.shapes import shape_of


def load(buffer: Any, _semantic: Any = None, _generator: Any = None) -> core.tensor:
    """The content as a block tensor.

    Raises
    ------
    SharedBufferError : the buffer has slots, or a dim that is no power of two.
    """
    buffer = check_buffer("load", "buffer", buffer)
    type_ = buffer.type
    check_whole_tensor("load", type_)
    load = operations.TMEM_LOAD if type_.space == TMEM else operations.LOCAL_LOAD
    handle = perform(load, _semantic, _generator, type_, buffer.handle)
    value = core.tensor(handle, tensor_type(type_))
    return _semantic.cast(value, core.int1) if type_.dtype.is_bool() else value


def store(buffer: Any, value: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """Write the whole buffer: a block tensor of its shape and dtype, or one number into every element.

    Raises
    ------
    ShapeError, ArgumentTypeError : the value has another shape or dtype.
    SharedBufferError : the buffer has slots, or a dim that is no power of two.
    """
    buffer = check_buffer("store", "buffer", buffer)
    check_whole_tensor("store", buffer.type)
    tensor = _stored_value(buffer.type, plain(value), _semantic)
    if buffer.type.dtype.is_bool():
        tensor = _semantic.cast(tensor, core.int8)
    operation = operations.TMEM_STORE if buffer.type.space == TMEM else operations.LOCAL_STORE
    perform(operation, _semantic, _generator, buffer.handle, tensor.handle)


def _stored_value(type_: BufferType, value: Any, semantic: Any) -> core.tensor:
    if isinstance(value, (bool, int, float)):
        return semantic.full(list(type_.shape), value, type_.dtype)
    if not isinstance(value, core.tensor) or value.dtype != type_.dtype:
        got = describe_value(value)
        raise ArgumentTypeError(
            "tle.gpu.store: a buffer takes values of its own dtype",
            table=[Row("value", f"{type_.dtype}", got)],
            hint=f"convert it: value.to({type_.dtype})" if isinstance(value, core.tensor) else "",
        )
    if not value.type.is_block():
        return semantic.splat(value, list(type_.shape))
    if shape_of(value) != type_.shape:
        raise ShapeError(
            "tle.gpu.store writes the whole buffer",
            table=[Row("value", str(list(type_.shape)), str(list(shape_of(value))))],
        )
    return value


def free(buffer: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """Give the memory back: no view of it is used from here on.

    Triton finds out by itself where a buffer is used last; this says it where a loop hides it.
    """
    buffer = check_buffer("free", "buffer", buffer)
    if buffer.type != buffer.storage.type:
        raise SharedBufferError(
            "tle.gpu.free takes the buffer that tle.gpu.alloc made, not a view of it",
            table=[Row("buffer", str(buffer.storage.type), str(buffer.type))],
        )
    if buffer.type.space != TMEM:  # whose last use Triton finds by itself
        perform(operations.LOCAL_DEALLOC, _semantic, _generator, buffer.handle)
    site = call_site(_generator, _semantic) if _generator is not None else interpreted_call_site()
    buffer.storage.freed = site
