"""Methods of buffers: views of the same memory."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row, ShapeError, SharedBufferError, TileIndexError
from tle_raw.frontends.gpu import operations
from tle_raw.frontends.gpu.buffered_tensor import TMEM, BufferType
from tle_raw.frontends.gpu.checks import check_buffer, check_constant, check_shape
from tle_raw.frontends.gpu.layouts.swizzled import swizzled_shared_layout
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.gpu.view_rules import check_part, memory_shape
from tle_raw.frontends.lite.arguments import describe_value, is_integer, is_scalar_integer, items, plain


def slot(buffer: Any, stage: Any, _semantic: Any = None, _generator: Any = None) -> Any:
    """One slot of a buffer, a view without the first axis; ``buffer[stage]`` is the same.

    Parameters
    ----------
    stage : which, a constant or a scalar of the kernel. A run-time one is not checked.

    Raises
    ------
    SharedBufferError : the buffer has rank 1, or a layout in which the rows lie in each other.
    TileIndexError : a constant beyond the buffer.
    """
    buffer = check_buffer("slot", "buffer", buffer)
    type_ = buffer.type
    if len(type_.shape) < 2:
        raise SharedBufferError(
            "tle.gpu.slot: a slot is the buffer without its first axis",
            table=[Row("rank of the buffer", "2 or more", str(len(type_.shape)))],
        )
    index = _slot_index(plain(stage), type_.shape[0], _semantic)
    handle = buffer.handle
    if not type_.has_slots:
        handle, type_ = rows_as_slots(handle, type_, _semantic, _generator)
    memory = type_.memory[1:]
    one = type_.changed(shape=type_.shape[1:], memory=memory, whole=memory)
    made = perform(operations.MEMDESC_INDEX, _semantic, _generator, one, handle, index.handle)
    return type(buffer)(made, one, buffer.storage)


def _slot_index(stage: Any, count: int, semantic: Any) -> core.tensor:
    if is_integer(stage) and not 0 <= stage < count:
        raise TileIndexError(
            "tle.gpu.slot: the buffer has no such slot", table=[Row("stage", f"0 to {count - 1}", str(stage))]
        )
    if not is_integer(stage) and not is_scalar_integer(stage):
        raise ArgumentTypeError(
            "tle.gpu.slot: a slot's number is an integer",
            table=[Row("stage", "an integer, or a scalar of integers", describe_value(stage))],
        )
    return semantic.cast(semantic.to_tensor(stage), core.int32)


def rows_as_slots(handle: Any, type_: BufferType, semantic: Any, generator: Any) -> tuple[Any, BufferType]:
    """The same memory, whose first axis counts slots: rows must lie behind each other."""
    if not type_.layout.is_plain or type_.is_part:
        raise SharedBufferError(
            "tle.gpu.slot: the rows of this buffer lie in each other, so that none is a buffer of its own",
            table=[Row("layout", "rows behind each other", type_.layout.text)],
            hint="allocate it with nv_mma_shared_layout=False, or with one more axis in front",
        )
    slots = type_.changed(layout=swizzled_shared_layout.make_default(len(type_.shape) - 1))
    return perform(operations.MEMDESC_REINTERPRET, semantic, generator, slots, handle), slots


def subslice(buffer: Any, start: Any, length: Any, dim: Any = -1, _semantic: Any = None, _generator: Any = None) -> Any:
    """A part of a buffer along one axis, a view.

    Parameters
    ----------
    start, length : in elements; constants. The length is a power of two, and divides the start.
    dim : which axis.

    Raises
    ------
    ShapeError : the part lies beyond the buffer, or is none that the layout can be cut into.
    SharedBufferError : the axis counts slots.
    """
    buffer = check_buffer("subslice", "buffer", buffer)
    type_ = buffer.type
    start, length = check_constant("subslice", "start", start), check_constant("subslice", "length", length)
    axis, rank = check_constant("subslice", "dim", dim), len(type_.shape)
    if not -rank <= axis < rank:
        raise ShapeError(
            f"tle.gpu.subslice: a buffer of rank {rank} has no such axis",
            table=[Row("dim", f"{-rank} to {rank - 1}", str(axis))],
        )
    axis %= rank
    check_part(type_, axis, start, length)
    shape, memory = list(type_.shape), list(type_.memory)
    shape[axis] = memory[axis] = length
    part = type_.changed(shape=tuple(shape), memory=tuple(memory))
    offsets = [start if other == axis else 0 for other in range(rank)]
    cut = operations.TMEM_SUBSLICE if type_.space == TMEM else operations.MEMDESC_SUBSLICE
    made = perform(cut, _semantic, _generator, part, buffer.handle, offsets)
    return type(buffer)(made, part, buffer.storage)


def reshape(buffer: Any, shape: Any, _semantic: Any = None, _generator: Any = None) -> Any:
    """The same elements, row by row, under another shape, a view.

    Raises
    ------
    ShapeError : it has more or fewer elements.
    SharedBufferError : it is a part of a buffer, or its rows do not lie behind each other without gaps.
    """
    buffer = check_buffer("reshape", "buffer", buffer)
    type_, dims = buffer.type, check_shape("reshape", "shape", shape)
    elements, wanted = 1, 1
    for dim in type_.shape:
        elements *= dim
    for dim in dims:
        wanted *= dim
    if elements != wanted:
        raise ShapeError(
            "tle.gpu.reshape keeps the number of elements",
            table=[Row("shape", f"{elements} elements, as {list(type_.shape)}", f"{wanted}, {list(dims)}")],
        )
    if type_.is_part:
        raise SharedBufferError(
            "tle.gpu.reshape: a part of a buffer keeps its shape",
            table=[Row("buffer", "all of one", f"{list(type_.memory)} of {list(type_.whole)}")],
            hint="take the part of the buffer in its new shape",
        )
    if not type_.layout.is_plain or type_.shape != type_.memory:
        raise SharedBufferError(
            "tle.gpu.reshape: the rows of this buffer do not lie behind each other",
            table=[Row("layout", "rows behind each other, without gaps", type_.layout.text)],
            hint="allocate it with nv_mma_shared_layout=False",
        )
    layout = swizzled_shared_layout.make_default(len(dims))
    if memory_shape(dims, len(dims)) != dims:
        layout = swizzled_shared_layout.make_default(len(dims) - 1) if len(dims) > 1 else layout
        if memory_shape(dims, layout.rank) != dims:
            raise ShapeError(
                "tle.gpu.reshape: all dims but the first are powers of two",
                table=[Row("shape", f"e.g. {list(memory_shape(dims, layout.rank))}", str(list(dims)))],
            )
    made_type = type_.changed(shape=dims, memory=dims, whole=dims, layout=layout)
    made = perform(operations.MEMDESC_REINTERPRET, _semantic, _generator, made_type, buffer.handle)
    return type(buffer)(made, made_type, buffer.storage)


def permute(buffer: Any, *dims: Any, _semantic: Any = None, _generator: Any = None) -> Any:
    """The axes in another order, a view: nothing moves.

    Raises
    ------
    ShapeError : the dims are no order of the axes.
    SharedBufferError : the first axis counts slots.
    """
    buffer = check_buffer("permute", "buffer", buffer)
    type_ = buffer.type
    given = items(dims[0]) if len(dims) == 1 and items(dims[0]) is not None else [plain(dim) for dim in dims]
    rank = len(type_.shape)
    if not given or not all(map(is_integer, given)) or sorted(given) != list(range(rank)):
        raise ShapeError(
            "tle.gpu.permute takes each axis once",
            table=[Row("dims", f"0 to {rank - 1} in some order", describe_value(core.tuple(list(dims))))],
        )
    if type_.has_slots:
        raise SharedBufferError(
            "tle.gpu.permute: the buffer's first axis counts slots", hint="take one with .slot(i) first"
        )
    moved = BufferType(
        type_.dtype,
        *(tuple(part[axis] for axis in given) for part in (type_.shape, type_.memory, type_.whole)),
        type_.layout.make_permute(given),
        type_.space,
        type_.context,
    )
    made = perform(operations.MEMDESC_TRANS, _semantic, _generator, buffer.handle, given)
    return type(buffer)(made, moved, buffer.storage)


def trans(buffer: Any, *dims: Any, _semantic: Any = None, _generator: Any = None) -> Any:
    """``permute``; without dims the last two axes change places."""
    buffer = check_buffer("trans", "buffer", buffer)
    rank = len(buffer.type.shape)
    if not dims and rank < 2:
        raise ShapeError("tle.gpu.trans: a buffer of rank 1 has no two axes", table=[Row("rank", "2 or more", "1")])
    order = dims or (*range(rank - 2), rank - 1, rank - 2)
    return permute(buffer, *order, _semantic=_semantic, _generator=_generator)
