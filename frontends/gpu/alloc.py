"""``tle.gpu.alloc``: a buffer in shared memory."""

from __future__ import annotations

import re
from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, LayoutError, Row, SharedBufferError
from tle_raw.frontends.call_site import call_site
from tle_raw.frontends.gpu import content, operations, views
from tle_raw.frontends.gpu.buffered_tensor import TMEM, BufferType, Storage, buffered_tensor
from tle_raw.frontends.gpu.capability import check_has_tensor_memory
from tle_raw.frontends.gpu.checks import check_buffer, check_constant, check_dtype, check_flag, check_shape
from tle_raw.frontends.gpu.gpu_function import gpu_function
from tle_raw.frontends.gpu.layouts.default import default_layout
from tle_raw.frontends.gpu.layouts.padded import padded_shared_layout
from tle_raw.frontends.gpu.layouts.shared_layout import memory_bits, shared_layout
from tle_raw.frontends.gpu.layouts.swizzled import swizzled_shared_layout
from tle_raw.frontends.gpu.layouts.tensor_memory import tensor_memory_layout
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.gpu.products_barrier import barrier_of_products
from tle_raw.frontends.gpu.storage_kind import check_scope, smem
from tle_raw.frontends.gpu.view_rules import memory_shape
from tle_raw.frontends.lite.arguments import describe_value, plain
from tle_raw.regions.interpret import interpreted_call_site
from tle_raw.regions.stages import check_stages

BUFFERS = "shared buffers"
NAME = "tle.name"
_ASSIGNED = re.compile(r"\s*([A-Za-z_]\w*)\s*(?::[^=]*)?=(?!=)")


@gpu_function
def alloc(
    shape: Any,
    dtype: Any,
    layout: Any = None,
    scope: Any = smem,
    init_value: Any = None,
    alias: Any = None,
    alias_offset_bytes: Any = 0,
    nv_mma_shared_layout: Any = True,
    _semantic: Any = None,
    _generator: Any = None,
) -> Any:
    """A buffer in the shared memory of the block, or in its tensor memory. Its content is undefined until written.

    On NVIDIA GPUs it is ``ttg.local_alloc``; Triton places it, counts it and puts barriers between accesses. Buffers
    whose uses do not overlap share memory. On CPUs it is memory of the thread that runs the program.

    Parameters
    ----------
    shape : positive constants. With three or more dims the first counts slots (``.slot(i)``), any number of them; a
        dim that is no power of two takes the memory of the next one.
    dtype : of the elements; no pointers.
    layout : how elements lie in memory, of the shape's rank, or of a slot's. By default of a tile of two dims that
        which TMA and tensor cores take, where they take it, else rows behind each other.
    scope : ``tle.gpu.smem``, or ``tle.gpu.tmem``, the tensor memory of sm_100: a tile of 64 or 128 rows, of 32 bits an
        element, which products are added to (``wgmma``). Elsewhere than on GPUs it is memory like any other.
    init_value : a number for every element.
    alias, alias_offset_bytes : make it a view of another buffer's memory, from this byte on, a multiple of the view's
        size. Both are used as the kernel says: nothing keeps them apart.
    nv_mma_shared_layout : False for rows behind each other.

    Raises
    ------
    ShapeError, ArgumentTypeError : the shape or the dtype cannot be.
    LayoutError : the layout does not fit them.
    SharedBufferError : the view lies beyond the other buffer.
    """
    if _generator is not None:
        check_stages(_semantic.builder.options, BUFFERS)
    dims, dtype = check_shape("alloc", "shape", shape), check_dtype("alloc", "dtype", dtype)
    space = check_scope("alloc", scope)
    if space.name == TMEM:
        check_has_tensor_memory("alloc", _semantic, _generator)
    nv_mma = check_flag("alloc", "nv_mma_shared_layout", nv_mma_shared_layout)
    chosen = _layout(plain(layout), dims, dtype, nv_mma, space.name)
    memory = memory_shape(dims, chosen.rank)
    type_ = BufferType(dtype, dims, memory, memory, chosen, space.name, getattr(_generator, "context", None))
    chosen.check(type_.slot_memory, memory_bits(dtype))
    offset = check_constant("alloc", "alias_offset_bytes", alias_offset_bytes)
    if plain(alias) is not None:
        if space.name == TMEM:
            raise ArgumentTypeError("tle.gpu.alloc: alias= is a view of a buffer in shared memory")
        return _alias(check_buffer("alloc", "alias", alias), type_, offset, init_value, _semantic, _generator)
    if offset:
        raise ArgumentTypeError("tle.gpu.alloc: an offset is one into another buffer: alias= says which")
    operation = operations.TMEM_ALLOC if space.name == TMEM else operations.LOCAL_ALLOC
    handle = perform(operation, _semantic, _generator, type_)
    storage = Storage(allocated_name(_generator, _semantic), type_)
    if _generator is not None and storage.name:
        handle.set_attr(NAME, _semantic.builder.get_string_attr(storage.name))
    if space.name == TMEM:
        storage.barrier = barrier_of_products(_semantic, _generator)
    buffer = buffered_tensor(handle, type_, storage)
    if plain(init_value) is not None:
        _fill(buffer, plain(init_value), _semantic, _generator)
    return buffer


def _layout(given: Any, shape: tuple[int, ...], dtype: Any, nv_mma: bool, space: str) -> shared_layout:
    in_tensor_memory = isinstance(given, tensor_memory_layout)
    if given is None and space == TMEM:
        return tensor_memory_layout.make_default(list(shape))
    if isinstance(given, shared_layout) and in_tensor_memory != (space == TMEM):
        raise LayoutError(
            "tle.gpu.alloc: the layout is one of another memory",
            table=[Row("layout", f"one for tle.gpu.{space}", given.text)],
        )
    if given is None:
        rank = len(shape) if len(shape) < 3 else len(shape) - 1
        return default_layout(memory_shape(shape, rank)[-rank:], dtype, nv_mma)
    if not isinstance(given, shared_layout):
        raise LayoutError(
            "tle.gpu.alloc: a layout is one of tle.gpu's",
            table=[Row("layout", "e.g. tle.gpu.swizzled_shared_layout.make_default(2)", describe_value(given))],
        )
    if given.rank not in (len(shape), len(shape) - 1):
        raise LayoutError(
            "tle.gpu.alloc: the layout is of another rank",
            table=[Row("rank of the layout", f"{len(shape)}, or {len(shape) - 1} of a slot", str(given.rank))],
        )
    if isinstance(given, padded_shared_layout) and given.rank < len(shape):
        # Triton lets each slot begin where the one before would end without its gaps.
        raise LayoutError(
            "tle.gpu.alloc: slots with gaps would lie in each other",
            table=[Row("layout", "one without gaps, or of one buffer", given.text)],
            hint="allocate a buffer for each slot",
        )
    return given


def _alias(base: Any, type_: BufferType, offset: int, init_value: Any, semantic: Any, generator: Any) -> Any:
    if plain(init_value) is not None:
        raise ArgumentTypeError("tle.gpu.alloc: a view of another buffer has no init_value: what is there stays")
    size, whole = type_.bytes, base.type.bytes
    if base.type.is_part:
        raise SharedBufferError("tle.gpu.alloc: alias is a buffer, or a slot of one, not a part of its rows or columns")
    if offset < 0 or offset % size or offset + size > whole:
        raise SharedBufferError(
            "tle.gpu.alloc: a view begins at a multiple of its size, and ends within the other buffer, in bytes",
            table=[
                Row("alias_offset_bytes", f"a multiple of {size}", str(offset)),
                Row("end of the view", f"at most {whole}", str(offset + size)),
            ],
        )
    bytes_ = type_.changed(
        dtype=core.int8,
        shape=(whole // size, size),
        memory=(whole // size, size),
        whole=(whole // size, size),
        layout=swizzled_shared_layout.make_default(1),
    )
    one = bytes_.changed(shape=(size,), memory=(size,), whole=(size,))
    parts = perform(operations.MEMDESC_REINTERPRET, semantic, generator, bytes_, base.handle)
    index = semantic.to_tensor(offset // size).handle
    part = perform(operations.MEMDESC_INDEX, semantic, generator, one, parts, index)
    return buffered_tensor(
        perform(operations.MEMDESC_REINTERPRET, semantic, generator, type_, part), type_, base.storage
    )


def _fill(buffer: Any, value: Any, semantic: Any, generator: Any) -> None:
    """Every element, those beside the shape too: a tile is written as a whole."""
    type_ = buffer.type
    one = type_.slot_memory
    if not type_.has_slots:
        tiles = [buffered_tensor(buffer.handle, type_.changed(shape=type_.memory), buffer.storage)]
    else:
        tiles = [
            views.slot(buffer, number, _semantic=semantic, _generator=generator) for number in range(type_.shape[0])
        ]
        tiles = [buffered_tensor(tile.handle, tile.type.changed(shape=one), tile.storage) for tile in tiles]
    for tile in tiles:
        content.store(tile, value, _semantic=semantic, _generator=generator)


def allocated_name(generator: Any, semantic: Any) -> str:
    """What the kernel calls the buffer, read from its line; "" where that does not say."""
    site = call_site(generator, semantic) if generator is not None else interpreted_call_site()
    match = _ASSIGNED.match(site.text) if site else None
    return match[1] if match else ""
