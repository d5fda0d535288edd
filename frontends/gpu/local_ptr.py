"""``tle.gpu.local_ptr``: pointers to the elements of a buffer."""

from __future__ import annotations

from math import gcd
from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentCountError, ArgumentTypeError, Row, ShapeError, SharedBufferError, TileIndexError
from tle_raw.frontends.gpu import operations
from tle_raw.frontends.gpu.buffered_tensor import SMEM, BufferType
from tle_raw.frontends.gpu.checks import check_buffer
from tle_raw.frontends.gpu.cluster_buffer import cluster_buffer
from tle_raw.frontends.gpu.cluster_functions import mapped
from tle_raw.frontends.gpu.element_place import place_in_layout, place_in_rows, places_of_bits
from tle_raw.frontends.gpu.gpu_function import gpu_function
from tle_raw.frontends.gpu.layouts.shared_layout import memory_bits
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.gpu.view_rules import smallest_parts
from tle_raw.frontends.lite.arguments import describe_value, is_integer, items, plain
from tle_raw.regions.ports import PART, WHOLE
from tle_raw.regions.shapes import shape_of
from tle_raw.regions.stages import compiled_target, note_pointers
from tle_raw.triton_types import Semantic

GPU = "cuda"  # the target where a layout means something
_ALIGNED = 16  # bytes that one access to shared memory takes at most


@gpu_function
def local_ptr(buffer: Any, indices: Any = None, _semantic: Any = None, _generator: Any = None) -> core.tensor:
    """Pointers to elements of a buffer, for ``tl.load``, ``tl.store`` and all of Triton's atomics.

    Elements are named by their indices, whatever the layout is. A barrier of the block stands wherever one access
    must see or must not disturb what another thread does by such a pointer, or by the buffer itself; the kernel needs
    none of its own. An atomic operation is one among the threads of the block, whatever ``sem`` and ``scope`` say.

    Parameters
    ----------
    buffer : one of ``tle.gpu.alloc``; or of ``tle.remote``, another block's, where barriers between the blocks order
        accesses, and an atomic operation is one among the threads of the cluster.
    indices : one for each axis: block tensors of integers, which are broadcast to one shape, scalars, or constants. By
        scalars alone it is one pointer. Without indices there is a pointer for each element.

    Raises
    ------
    ArgumentCountError : there are fewer or more indices than axes.
    ArgumentTypeError : the buffer is none, or an index is no integer.
    ShapeError : the indices have no common shape, or the buffer has more elements than a block tensor may have.
    SharedBufferError : without indices, the buffer has a dim that is no power of two.
    TileIndexError : a constant lies beyond the buffer.
    """
    given_buffer = plain(buffer)
    remote = given_buffer if isinstance(given_buffer, cluster_buffer) else None
    buffer = check_buffer("local_ptr", "buffer", remote.own if remote else buffer)
    type_ = buffer.type
    if type_.space != SMEM:
        raise SharedBufferError(
            "tle.gpu.local_ptr: tensor memory has no addresses",
            table=[Row("buffer", "in shared memory", f"in {type_.space}")],
        )
    given = _every_index(type_, _semantic) if plain(indices) is None else _checked(type_, indices)
    shape = _common_shape(given)
    told = _Told(buffer, _semantic, _generator)
    note_pointers()
    if _generator is not None and compiled_target() == GPU:
        place = place_in_layout(type_, given, _semantic)
    else:
        place = place_in_rows([told.number(str(axis)) for axis in range(len(given))], given, _semantic)
    if shape and shape_of(place) != shape:
        place = _semantic.broadcast_impl_shape(place, shape) if place.type.is_block() else _semantic.splat(place, shape)
    pointers = _semantic.add(_base(type_, told, remote, _semantic), place, False)
    if _generator is not None and compiled_target() == GPU and remote is None and shape:
        _note_part(pointers, type_, WHOLE if plain(indices) is None else _axes(type_, shape, _semantic), _semantic)
    if buffer.storage.window is not None:
        buffer.storage.window.pointers.append(pointers)
    return pointers


class _Told:
    """Numbers of a buffer's that are known where the kernel runs."""

    def __init__(self, buffer: Any, semantic: Semantic, generator: Any) -> None:
        self.buffer, self.semantic, self.generator = buffer, semantic, generator

    def number(self, what: str) -> core.tensor:
        handle = perform(
            operations.LOCAL_TOLD, self.semantic, self.generator, self.buffer.type, self.buffer.handle, what
        )
        return core.tensor(handle, core.int64)


def _base(type_: BufferType, told: _Told, remote: cluster_buffer | None, semantic: Semantic) -> core.tensor:
    """The pointer to the first element. Triton is told how it is aligned, and joins accesses by that."""
    address = told.number(operations.ADDRESS)
    if remote is not None:
        address = mapped(address, remote, semantic)
    pointer = semantic.cast(address, core.pointer_type(type_.dtype))
    return pointer if told.generator is None else semantic.multiple_of(pointer, [_alignment(type_)])


def _alignment(type_: BufferType) -> int:
    """In bytes: a slot begins at a multiple of its own size, and a part of rows or columns at one of its length."""
    bits = memory_bits(type_.dtype)
    size = int(type_.layout.bytes(type_.slot_memory, bits))
    if type_.is_part:
        size = min(type_.slot_memory) * bits // 8
    return gcd(size, _ALIGNED)


# --- parts ---------------------------------------------------------------------------------------------------------


def _note_part(pointers: core.tensor, type_: BufferType, note: str, semantic: Semantic) -> None:
    """Of which elements these are, for loads of a whole buffer or a rectangle: a bool has another dtype in memory."""
    if note and not type_.dtype.is_bool() and not type_.has_slots and type_.shape == type_.memory:
        pointers.handle.set_attr(PART, semantic.builder.get_string_attr(note))


def _axes(type_: BufferType, shape: tuple[int, ...], semantic: Semantic) -> str:
    """The note of pointers by indices; "" where they cannot be a rectangle of the buffer."""
    if len(shape) != len(type_.shape) or any(dim > most for dim, most in zip(shape, type_.shape)):
        return ""
    bases = places_of_bits(type_, semantic)
    if bases is None:
        return ""
    return ",".join(f"{least}:{' '.join(map(str, axis))}" for least, axis in zip(smallest_parts(type_), bases))


# --- indices ------------------------------------------------------------------------------------------------------


def _every_index(type_: BufferType, semantic: Semantic) -> list[Any]:
    """Of each axis all, such that together they are all elements."""
    if any(dim & (dim - 1) for dim in type_.shape):
        raise SharedBufferError(
            "tle.gpu.local_ptr: the dims of a block tensor are powers of two",
            table=[Row("buffer", "dims that are powers of two", str(list(type_.shape)))],
            hint="say which elements: local_ptr(buffer, (rows, columns))",
        )
    _check_count(type_.shape)
    rank, found = len(type_.shape), []
    for axis, dim in enumerate(type_.shape):
        index = semantic.arange(0, dim) if dim > 1 else semantic.full([1], 0, core.int32)
        for other in range(rank):
            index = index if other == axis else semantic.expand_dims(index, other)
        found.append(index)
    return found


def _checked(type_: BufferType, indices: Any) -> list[Any]:
    given, rank = items(indices), len(type_.shape)
    given = [plain(indices)] if given is None else given
    if len(given) != rank:
        raise ArgumentCountError(
            "tle.gpu.local_ptr takes one index for each axis of the buffer",
            table=[Row("indices", f"{rank}, for {list(type_.shape)}", str(len(given)))],
        )
    for axis, (index, dim) in enumerate(zip(given, type_.shape)):
        _check_index(axis, index, dim)
    return given


def _check_index(axis: int, index: Any, dim: int) -> None:
    if is_integer(index):
        if not 0 <= index < dim:
            raise TileIndexError(
                "tle.gpu.local_ptr: the buffer has no such element",
                table=[Row(f"index of axis {axis}", f"0 to {dim - 1}", str(index))],
            )
    elif not isinstance(index, core.tensor) or not index.dtype.is_int() or index.dtype.is_bool():
        raise ArgumentTypeError(
            "tle.gpu.local_ptr: an index is an integer",
            table=[
                Row(f"index of axis {axis}", "integers: a block tensor, a scalar or a constant", describe_value(index))
            ],
        )


def _common_shape(indices: list[Any]) -> tuple[int, ...]:
    """What the indices are broadcast to; () of scalars."""
    shapes = [shape_of(index) for index in indices if isinstance(index, core.tensor) and index.type.is_block()]
    rank = max(map(len, shapes), default=0)
    aligned = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    common = tuple(max(dims) for dims in zip(*aligned))
    if any(dim not in (1, wanted) for shape in aligned for dim, wanted in zip(shape, common)):
        raise ShapeError(
            "tle.gpu.local_ptr: the indices are broadcast to one shape, and these have none",
            table=[Row("shapes of the indices", "equal dims, or 1", ", ".join(str(list(shape)) for shape in shapes))],
        )
    _check_count(common)
    return common


def _check_count(shape: tuple[int, ...]) -> None:
    elements = 1
    for dim in shape:
        elements *= dim
    if elements > core.TRITON_MAX_TENSOR_NUMEL:
        raise ShapeError(
            "a block tensor of Triton cannot have so many elements",
            table=[Row("pointers", f"at most {core.TRITON_MAX_TENSOR_NUMEL}", str(list(shape)))],
        )
