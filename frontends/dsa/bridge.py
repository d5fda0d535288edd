"""``tle.dsa.to_tensor`` and ``tle.dsa.to_buffer``: between buffers and block tensors."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row, ShapeError
from tle_raw.frontends.dsa import content
from tle_raw.frontends.dsa.alloc import allocate
from tle_raw.frontends.dsa.checks import check_buffer, check_shape, check_tensor
from tle_raw.frontends.dsa.dsa_function import dsa_function
from tle_raw.frontends.dsa.spaces import UB, check_space
from tle_raw.frontends.lite.arguments import plain
from tle_raw.regions.shapes import shape_of


@dsa_function
def to_tensor(
    buffer: Any, writable: Any = True, target_shape: Any = None, _semantic: Any = None, _generator: Any = None
) -> core.tensor:
    """What a buffer holds, as a block tensor: a value, which later writes into the buffer do not change.

    Parameters
    ----------
    writable : passed over: a value is not written.
    target_shape : another shape of as many elements, row by row.

    Raises
    ------
    ArgumentTypeError : it is no buffer. ShapeError : the other shape has more or fewer elements.
    """
    buffer = check_buffer("to_tensor", "buffer", buffer)
    if plain(target_shape) is None:
        return content.load(buffer, _semantic, _generator)
    dims, count, wanted = check_shape("to_tensor", "target_shape", target_shape), 1, 1
    for dim in buffer.type.shape:
        count *= dim
    for dim in dims:
        wanted *= dim
    if count != wanted:
        raise ShapeError(
            "tle.dsa.to_tensor: the other shape has as many elements",
            table=[Row("target_shape", f"{count} elements, as {buffer.type}", f"{wanted}, as {list(dims)}")],
        )
    return _semantic.reshape(content.load(buffer, _semantic, _generator), list(dims), False)


@dsa_function
def to_buffer(
    tensor: Any, space: Any = None, bind_buffer: Any = None, _semantic: Any = None, _generator: Any = None
) -> Any:
    """A buffer that holds a block tensor.

    Parameters
    ----------
    space : the memory that it lies in, as for ``tle.dsa.alloc``; UB where none is given.
    bind_buffer : a buffer to write into, which comes back, instead of a new one.

    Raises
    ------
    ArgumentTypeError : no block tensor of numbers, no buffer, or one in another space or of another dtype.
    ShapeError : the bound buffer has another shape. LocalMemoryError : as for ``tle.dsa.alloc``.
    """
    tensor = check_tensor("to_buffer", "tensor", tensor)
    if plain(bind_buffer) is None:
        chosen = UB if plain(space) is None else check_space("to_buffer", "space", space)
        buffer = allocate("to_buffer", shape_of(tensor), tensor.dtype, chosen, _semantic, _generator)
    else:
        buffer = _bound(tensor, space, bind_buffer)
    content.store(buffer, tensor, _semantic, _generator)
    return buffer


def _bound(tensor: core.tensor, space: Any, bind_buffer: Any) -> Any:
    buffer = check_buffer("to_buffer", "bind_buffer", bind_buffer)
    if plain(space) is not None and check_space("to_buffer", "space", space) != buffer.space:
        raise ArgumentTypeError(
            "tle.dsa.to_buffer: the bound buffer lies in another space",
            table=[Row("bind_buffer", f"one in {plain(space).name}", str(buffer.type))],
        )
    if tensor.dtype != buffer.dtype:
        raise ArgumentTypeError(
            "tle.dsa.to_buffer: the bound buffer is of another dtype",
            table=[Row("bind_buffer", str(tensor.dtype), str(buffer.dtype))],
        )
    if shape_of(tensor) != buffer.type.shape:
        raise ShapeError(
            "tle.dsa.to_buffer: the bound buffer has another shape",
            table=[Row("bind_buffer", str(list(shape_of(tensor))), str(list(buffer.type.shape)))],
        )
    return buffer
