"""``tle.gpu.copy``: between global memory and buffers."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row, ShapeError
from tle_raw.frontends.gpu import content, operations
from tle_raw.frontends.gpu.checks import (
    check_buffer,
    check_flag,
    check_in_shared_memory,
    check_shape,
    check_whole_tensor,
    is_buffer,
)
from tle_raw.frontends.gpu.cluster_buffer import cluster_buffer
from tle_raw.frontends.gpu.cluster_copies import copy_to_block
from tle_raw.frontends.gpu.gpu_function import gpu_function
from tle_raw.frontends.gpu.multicast import load_to_blocks
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.gpu.pipes.transports import copied
from tle_raw.frontends.gpu.tma_copy import is_descriptor, load_tile, store_tile
from tle_raw.frontends.lite.arguments import describe_value, plain
from tle_raw.regions.shapes import shape_of
from tle_raw.regions.stages import is_looked_at


@gpu_function
def copy(
    src: Any,
    dst: Any,
    shape: Any,
    offsets: Any = None,
    barrier: Any = None,
    mask: Any = None,
    is_async: Any = False,
    reduce: Any = None,
    multicast: Any = None,
    _semantic: Any = None,
    _generator: Any = None,
) -> None:
    """Copy a tile from global memory into a buffer, or from a buffer into global memory.

    One of the two is a buffer, the other a block of pointers or a tensor descriptor. On NVIDIA GPUs from sm_80 on a
    copy from pointers into a buffer is ``cp.async``, where each thread copies four bytes at least in a row; else it is
    a load and a store. From sm_90 on a copy by a descriptor into a buffer of the layout that ``alloc`` chooses is one
    of the copy engine (TMA).

    Parameters
    ----------
    src, dst : from where, and where to.
    shape : of the tile, which is the buffer's.
    offsets : where the tile begins, for each axis of the descriptor.
    barrier : the copy, from a descriptor into a buffer, is one of those that complete a phase of this barrier, which
        ``expect_bytes`` was given to; without one it is done on return. The copies of a phase follow each other in the
        kernel.
    mask : a block of truth values. Where it is false, a buffer gets 0, and global memory keeps what it has.
    is_async : return at once. The elements are there when ``async_wait_group`` has waited for the group that
        ``async_commit_group`` made after the copy. For copies into buffers.

    reduce : of a copy from a buffer by a descriptor: what is written is ``"add"``, ``"min"``, ``"max"``, ``"and"``,
        ``"or"`` or ``"xor"`` of the element and what global memory holds, atomically.

    multicast : of ``tle.multicast_group``: these blocks of the cluster copy one tile together, from a descriptor into a
        buffer of each, and all call it with the same tile. The descriptor's block is the part that one of them copies
        into all: a tile of so many times fewer rows, or columns. The barrier of each block expects the whole tile.

    Of ``tle.remote``, ``dst`` is the buffer of another block, of the same shape and layout. ``barrier`` is one of that
    block, at which the copy arrives once when its bytes are there; until then this block's buffer stays as it is.

    Raises
    ------
    ArgumentTypeError : the two do not go together, or their dtypes differ.
    ShapeError : their shapes differ.
    """
    src, dst, mask = plain(src), plain(dst), plain(mask)
    dims, asynchronous = check_shape("copy", "shape", shape), check_flag("copy", "is_async", is_async)
    if isinstance(dst, cluster_buffer):
        _check_alone("a copy into another block's buffer", offsets, mask, asynchronous, reduce, multicast)
        copy_to_block(src, dst, dims, barrier, _semantic, _generator)
        return
    if plain(multicast) is not None:
        _check_alone("a copy into the buffers of several blocks", None, mask, asynchronous, reduce, None)
        load_to_blocks(src, dst, dims, offsets, barrier, multicast, _semantic, _generator)
        return
    into = is_buffer(dst)
    if into != is_buffer(src) and (is_descriptor(src) or is_descriptor(dst)):
        if mask is not None or asynchronous or (not into and plain(barrier) is not None):
            raise ArgumentTypeError(
                "tle.gpu.copy: a descriptor's own bounds are its mask, and a barrier makes a copy into a buffer "
                "asynchronous"
            )
        if into and plain(reduce) is not None:
            raise ArgumentTypeError("tle.gpu.copy: reduce= combines what a buffer holds with global memory")
        if into:
            load_tile(src, dst, dims, offsets, barrier, _semantic, _generator)
        else:
            store_tile(src, dst, dims, offsets, plain(reduce), _semantic, _generator)
        return
    if plain(reduce) is not None:
        raise ArgumentTypeError(
            "tle.gpu.copy: reduce= belongs to copies from a buffer by a tensor descriptor",
            hint="with pointers: tl.atomic_add(pointers, buffer.load())",
        )
    if into == is_buffer(src):
        raise ArgumentTypeError(
            "tle.gpu.copy: one of the two is a buffer, the other in global memory",
            table=[
                Row("src", "a buffer, a block of pointers or a tensor descriptor", describe_value(src)),
                Row("dst", "a buffer, a block of pointers or a tensor descriptor", describe_value(dst)),
            ],
        )
    if plain(offsets) is not None or plain(barrier) is not None:
        raise ArgumentTypeError("tle.gpu.copy: offsets and barrier belong to copies by tensor descriptors")
    buffer = check_buffer("copy", "dst" if into else "src", dst if into else src)
    check_in_shared_memory("copy", "dst" if into else "src", buffer)
    pointers = _check_pointers("src" if into else "dst", src if into else dst, buffer)
    _check_shapes(dims, buffer, pointers)
    mask = None if mask is None else _mask(mask, dims, _semantic)
    if into:
        _copy_in(buffer, pointers, mask, asynchronous, _semantic, _generator)
        return
    if asynchronous:
        raise ArgumentTypeError("tle.gpu.copy: copies out of a buffer are not asynchronous")
    value = content.load(buffer, _semantic=_semantic, _generator=_generator)
    core.store(pointers, value, mask, _semantic=_semantic)


def _check_alone(what: str, *others: Any) -> None:
    if any(plain(other) not in (None, False) for other in others):
        raise ArgumentTypeError(
            f"tle.gpu.copy: {what} is done at once and whole",
            table=[Row("offsets, mask, is_async, reduce, multicast", "left out", "one of them is given")],
        )


def _copy_in(
    buffer: Any, pointers: core.tensor, mask: core.tensor | None, asynchronous: bool, semantic: Any, generator: Any
) -> None:
    if buffer.type.dtype.is_bool():  # in memory it is a byte
        pointers = semantic.cast(pointers, core.pointer_type(core.int8, pointers.dtype.address_space))
    if (window := buffer.storage.window) is not None:
        window.check_writing(buffer.storage.name)
        copied(window, buffer)
        buffer, asynchronous = buffer.untracked(), True  # whose end commit says, and the readers wait for
    arguments = (buffer.handle, pointers.handle, mask.handle if mask is not None else None, None)
    if generator is not None and is_looked_at():  # torch.compile takes a load for a read, and this for arithmetic
        core.load(pointers, mask, _semantic=semantic)
    perform(operations.ASYNC_COPY, semantic, generator, *arguments)
    if not asynchronous:
        perform(operations.ASYNC_COMMIT_GROUP, semantic, generator)
        perform(operations.ASYNC_WAIT, semantic, generator, 0)


def _check_pointers(name: str, value: Any, buffer: Any) -> core.tensor:
    is_block = isinstance(value, core.tensor) and value.type.is_block() and value.dtype.is_ptr()
    if not is_block or value.dtype.element_ty != buffer.type.dtype:
        raise ArgumentTypeError(
            "tle.gpu.copy: pointers to elements of the buffer's dtype",
            table=[Row(name, f"a block of pointers to {buffer.type.dtype}", describe_value(value))],
        )
    check_whole_tensor("copy", buffer.type)
    return value


def _check_shapes(dims: tuple[int, ...], buffer: Any, pointers: core.tensor) -> None:
    if not dims == buffer.type.shape == shape_of(pointers):
        raise ShapeError(
            "tle.gpu.copy copies a whole buffer",
            table=[
                Row("shape", str(list(buffer.type.shape)), str(list(dims))),
                Row("pointers", str(list(buffer.type.shape)), str(list(shape_of(pointers)))),
            ],
            hint="copy into a part: buffer.subslice(start, length, dim)",
        )


def _mask(mask: Any, dims: tuple[int, ...], semantic: Any) -> core.tensor:
    if not isinstance(mask, (bool, core.tensor)) or (isinstance(mask, core.tensor) and not mask.dtype.is_bool()):
        raise ArgumentTypeError(
            "tle.gpu.copy: a mask is made of truth values", table=[Row("mask", "int1", describe_value(mask))]
        )
    return semantic.broadcast_impl_shape(semantic.to_tensor(mask), list(dims))
