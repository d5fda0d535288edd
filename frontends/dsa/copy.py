"""``tle.dsa.copy``: moves between global memory and local memories."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row, ShapeError
from tle_raw.frontends.dsa import content
from tle_raw.frontends.dsa.checks import check_numbers
from tle_raw.frontends.dsa.dsa_function import dsa_function
from tle_raw.frontends.dsa.hint import promised
from tle_raw.frontends.dsa.kept import keep
from tle_raw.frontends.dsa.local_buffer import local_buffer
from tle_raw.frontends.dsa.memories import keeps_operations
from tle_raw.frontends.dsa.spaces import GM, check_move
from tle_raw.frontends.gpu.copy import copy as copy_shared
from tle_raw.frontends.lite.arguments import describe_value, plain
from tle_raw.regions.shapes import shape_of


@dsa_function
def copy(
    src: Any, dst: Any, shape: Any, inter_no_alias: Any = False, _semantic: Any = None, _generator: Any = None
) -> None:
    """Copy a tile between global memory and a buffer, or between two buffers, along the paths that a DSA has.

    These are GM to UB and back, within UB, GM to L1, L1 to L0A and L0B, and L0C to GM; GM is global memory. Only the
    first elements along each axis are copied, as many as ``shape`` says: what lies beyond keeps what it has.

    Parameters
    ----------
    src, dst : buffers, or blocks of pointers of a buffer's shape and dtype.
    shape : how many elements along each axis, constants or scalars of the kernel. More than the buffer has are all of
        them, less than one none.
    inter_no_alias : a promise that no iteration of a loop copies what another has written: copies of one may begin
        before those of the iteration before are over. ``tle.dsa.hint`` gives it to all copies of a block. It means
        something to ``ascend``.

    Raises
    ------
    LocalMemoryError : no path leads from one memory to the other.
    ArgumentTypeError : neither is a buffer, or the dtypes differ.
    ShapeError : the shapes differ.
    """
    src, dst = plain(src), plain(dst)
    buffers = [each for each in (src, dst) if isinstance(each, local_buffer)]
    if not buffers:
        raise ArgumentTypeError(
            "tle.dsa.copy: one of the two at least is a buffer",
            table=[
                Row("src", "a buffer or a block of pointers", describe_value(src)),
                Row("dst", "a buffer or a block of pointers", describe_value(dst)),
            ],
        )
    buffer = buffers[0]
    for name, side in (("src", src), ("dst", dst)):
        _check_side(name, side, buffer)
    spaces = [each.space.name if isinstance(each, local_buffer) else GM for each in (src, dst)]
    check_move(*spaces, _names(src, dst))
    sizes = check_numbers("copy", "shape", shape, len(buffer.type.shape))
    if _generator is not None and keeps_operations():
        numbers = [_semantic.cast(_semantic.to_tensor(size), core.int32).handle for size in sizes]
        no_alias = bool(plain(inter_no_alias)) or promised("inter_no_alias")
        handles = [each.whole.handle if isinstance(each, local_buffer) else each.handle for each in (src, dst)]
        keep("copy", {"inter_no_alias": no_alias}, [*handles, *numbers], [], _semantic, _generator)
        return
    mask = content.within(sizes, buffer.type.shape, _semantic)
    if mask is None and len(buffers) == 1 and buffer.type.view is None:
        ends = (buffer.whole, dst) if buffer is src else (src, buffer.whole)
        copy_shared(*ends, list(buffer.type.shape), _semantic=_semantic, _generator=_generator)
        return
    places = [
        content.pointers(each, _semantic, _generator) if isinstance(each, local_buffer) else each for each in (src, dst)
    ]
    value = core.load(places[0], mask, _semantic=_semantic)
    core.store(places[1], value, mask, _semantic=_semantic)


def _names(src: Any, dst: Any) -> str:
    names = [each.type.name if isinstance(each, local_buffer) else "pointers" for each in (src, dst)]
    return " -> ".join(name or "buffer" for name in names)


def _check_side(name: str, value: Any, buffer: local_buffer) -> None:
    """The shape and dtype are those of the buffer that takes part in the copy."""
    if isinstance(value, local_buffer):
        shape, dtype = value.type.shape, value.dtype
    elif isinstance(value, core.tensor) and value.dtype.is_ptr() and value.type.is_block():
        shape, dtype = shape_of(value), value.dtype.element_ty
    else:
        raise ArgumentTypeError(
            "tle.dsa.copy: a side is a buffer or a block of pointers",
            table=[Row(name, f"a buffer, or pointers to {buffer.dtype}", describe_value(value))],
        )
    if dtype != buffer.dtype:
        raise ArgumentTypeError(
            f"tle.dsa.copy: a copy converts nothing, and the dtype of {buffer.type} is another",
            table=[Row(name, str(buffer.dtype), str(dtype))],
        )
    if shape != buffer.type.shape:
        raise ShapeError(
            f"tle.dsa.copy: both sides have one shape, that of {buffer.type}",
            table=[Row(name, str(list(buffer.type.shape)), str(list(shape)))],
            hint="shape= says how much of it is copied; tle.dsa.subview is a part of a buffer",
        )
