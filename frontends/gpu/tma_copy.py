"""Copies between tensor descriptors and buffers, which the GPU's copy engine makes (TMA)."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, PipeError, Row, ShapeError, SharedBufferError
from tle_raw.frontends.gpu import content, operations
from tle_raw.frontends.gpu.barrier_value import COUNTING, Account, barrier, barrier_type, check_kind
from tle_raw.frontends.gpu.barriers import check_barrier
from tle_raw.frontends.gpu.checks import check_buffer, check_in_shared_memory, check_whole_tensor
from tle_raw.frontends.gpu.cluster_functions import write
from tle_raw.frontends.gpu.layouts.nv_mma import nv_mma_shared_layout
from tle_raw.frontends.gpu.layouts.shared_layout import memory_bits
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.gpu.reductions import check_reduction, reduce_into
from tle_raw.frontends.gpu.tile_places import has_tma, tile_places
from tle_raw.frontends.lite.arguments import plain
from tle_raw.regions.clusters import ALONE, MULTICAST
from tle_raw.regions.stages import compiled_target, is_looked_at
from tle_raw.triton_types import Semantic

NOTE, TMA, OUT = "tle.note", "tma", "out"


def is_descriptor(value: Any) -> bool:
    """Whether it is a tensor descriptor of Triton's."""
    return isinstance(value, core.tensor_descriptor_base)


def load_tile(
    descriptor: Any, given: Any, dims: tuple[int, ...], offsets: Any, bar: Any, semantic: Semantic, generator: Any
) -> None:
    """Copy a tile into a buffer.

    With a barrier the copy is one of those that complete its phase; without one it is done on return.
    """
    buffer = _checked("dst", given, descriptor, dims)
    places = tile_places(offsets, buffer.type, is_store=False, semantic=semantic)
    if (window := buffer.storage.window) is not None:
        check_no_barrier(window, buffer, bar)
        if is_tma_layout(buffer) and (generator is None or has_tma(semantic)):
            issue(descriptor, buffer.untracked(), places, window.full, semantic, generator)
            window.count(buffer.type.bytes, semantic, generator)
            return
    if plain(bar) is None:
        if compiled_target() == "cuda" and has_tma(semantic) and is_tma_layout(buffer):
            _load_and_wait(descriptor, buffer, places, semantic, generator)
        else:
            value = descriptor.load(places, _semantic=semantic)
            content.store(buffer, value, _semantic=semantic, _generator=generator)
        return
    one = check_barrier("copy", bar)
    check_kind("copy", one, COUNTING)
    if not is_tma_layout(buffer):
        raise SharedBufferError(
            "tle.gpu.copy: the copy engine writes buffers of its own layout",
            table=[Row("dst", "nv_mma_shared_layout", buffer.layout.text)],
        )
    if generator is not None and not has_tma(semantic):
        raise ArgumentTypeError(
            "tle.gpu.copy: copies that complete a barrier need sm_90 or later",
            hint="leave out barrier= and the wait: the copy is then done when it returns; or copy into a slot of a "
            "tle.pipe, which works on every GPU",
        )
    expect(one, buffer.type.bytes, semantic, generator)
    issue(descriptor, buffer, places, one, semantic, generator)


def expect(one: barrier, size: int, semantic: Semantic, generator: Any) -> None:
    """A copy of so many bytes begins: the first of a phase tells the barrier of all of them."""
    if _begin(one, size, generator):
        perform(operations.BARRIER_EXPECT, semantic, generator, one.handle, one.type.expect_bytes)


def check_no_barrier(window: Any, buffer: Any, bar: Any) -> None:
    """A copy into a slot of a pipe, which has a barrier of its own.

    Raises
    ------
    PipeError : the slot is none of the writer's just now, or the copy names another barrier.
    """
    window.check_writing(buffer.storage.name)
    if plain(bar) is not None:
        raise PipeError(
            f"tle.gpu.copy: a copy into a slot of the pipe `{window.pipe.name}` completes the pipe's own barrier",
            table=[Row("barrier", "left out", "a barrier")],
        )


def store_tile(
    given: Any, descriptor: Any, dims: tuple[int, ...], offsets: Any, reduce: Any, semantic: Semantic, generator: Any
) -> None:
    """Copy a buffer to global memory, or combine it with what is there."""
    buffer = _checked("src", given, descriptor, dims)
    kind = None if reduce is None else check_reduction(reduce, buffer.type.dtype, semantic, generator)
    value = content.load(buffer, _semantic=semantic, _generator=generator)
    places = tile_places(offsets, buffer.type, is_store=True, semantic=semantic)
    if compiled_target() == "cuda" and has_tma(semantic) and is_tma_layout(buffer):
        value.handle.set_attr(NOTE, semantic.builder.get_string_attr(OUT))
    if kind is None:
        descriptor.store(places, value, _semantic=semantic)
    else:
        reduce_into(descriptor, places, value, kind, semantic, generator)


def _load_and_wait(descriptor: Any, buffer: Any, places: list[Any], semantic: Semantic, generator: Any) -> None:
    """By a barrier of its own, which is gone afterwards: a loop comes here again."""
    size = buffer.type.bytes
    type_ = barrier_type(0, 1, False, size, None, Account(), generator.context)
    own = barrier(perform(operations.BARRIER_ALLOC, semantic, generator, type_, ""), type_)
    perform(operations.BARRIER_EXPECT, semantic, generator, own.handle, size)
    issue(descriptor, buffer, places, own, semantic, generator)
    first = semantic.to_tensor(0)
    perform(operations.BARRIER_WAIT, semantic, generator, own.handle, first.handle)
    perform(operations.BARRIER_INVALIDATE, semantic, generator, own.handle)


def issue(
    descriptor: Any,
    buffer: Any,
    places: list[Any],
    one: barrier,
    semantic: Semantic,
    generator: Any,
    among: core.tensor | None = None,
) -> None:
    """Begin a copy that completes a phase of a barrier, which was told of its bytes.

    ``among`` is, as bits, to which blocks of the cluster it goes.
    """
    if generator is not None and is_looked_at():  # torch.compile takes a load for a read, and this for arithmetic
        descriptor.load(places, _semantic=semantic)
    if generator is not None and operations.HAS_TMA_COPY:
        handles = [place.handle for place in places]
        arguments = (descriptor.handle, handles, one.handle, buffer.handle)
        _mark(among, semantic)
        perform(operations.TMA_LOAD, semantic, generator, *arguments)
        _close(among, semantic)
        return
    value = descriptor.load(places, _semantic=semantic)
    if generator is not None:
        value.handle.set_attr(NOTE, semantic.builder.get_string_attr(TMA))
    content.store(buffer, value, _semantic=semantic, _generator=generator)
    # Triton takes an arrival away whose predicate is a constant false.
    never = semantic.less_than(semantic.program_id(0), semantic.to_tensor(0))
    _mark(among, semantic)
    perform(operations.TMA_BARRIER, semantic, generator, one.handle, never.handle, buffer.type.bytes)
    _close(among, semantic)


def _mark(among: core.tensor | None, semantic: Semantic) -> None:
    if among is not None:
        write(MULTICAST, [among], core.int32, {}, semantic)


def _close(among: core.tensor | None, semantic: Semantic) -> None:
    if among is not None:
        write(ALONE, [semantic.to_tensor(0)], core.int32, {}, semantic)


def _begin(one: barrier, size: int, generator: Any) -> bool:
    """Whether a copy of so many bytes is a phase's first. The copies of a phase follow each other in one function.

    A function is traced once, however often it is called: what it does cannot depend on copies that its callers began.
    """
    expected, begun, slot = one.type.expect_bytes, one.type.account.begun, one.type.slot
    if not expected:
        raise ArgumentTypeError(
            "tle.gpu.copy: the barrier expects no bytes",
            table=[Row("expect_bytes", f"e.g. {size}", "0")],
            hint="tle.gpu.alloc_barriers(..., expect_bytes=) says what the copies of a phase bring together",
        )
    before, function = begun.pop(slot, (0, generator))
    if function is not generator:
        raise ArgumentTypeError(
            "tle.gpu.copy: the copies of a phase stand in one function, and some began in another, in bytes",
            table=[Row("bytes of the phase", str(expected), f"{before} there, {size} here")],
            hint="begin all copies of a phase in one function, or give each function a barrier of its own",
        )
    if before + size > expected:
        raise ArgumentTypeError(
            "tle.gpu.copy: the copies of a phase bring more than the barrier expects, in bytes",
            table=[Row("expect_bytes", str(before + size), str(expected))],
        )
    if before + size < expected:
        begun[slot] = before + size, generator
    return before == 0


def _checked(name: str, given: Any, descriptor: Any, dims: tuple[int, ...]) -> Any:
    buffer = check_buffer("copy", name, given)
    check_in_shared_memory("copy", name, buffer)
    check_whole_tensor("copy", buffer.type)
    block = tuple(int(plain(dim)) for dim in descriptor.block_shape)
    if descriptor.dtype != buffer.type.dtype:
        raise ArgumentTypeError(
            "tle.gpu.copy: descriptor and buffer have one dtype",
            table=[Row(name, str(descriptor.dtype), str(buffer.type.dtype))],
        )
    if not dims == buffer.type.shape == block:
        raise ShapeError(
            "tle.gpu.copy copies a descriptor's block",
            table=[Row("shape", str(list(block)), str(list(dims))), Row(name, str(list(block)), str(buffer.type))],
        )
    return buffer


def is_tma_layout(buffer: Any) -> bool:
    """Whether the copy engine writes and reads a buffer of this layout."""
    layout = buffer.layout
    if not isinstance(layout, nv_mma_shared_layout) or layout.transposed or buffer.type.is_part:
        return False
    return layout == nv_mma_shared_layout.make_default(list(buffer.type.shape), buffer.type.dtype) and (
        memory_bits(buffer.type.dtype) == buffer.type.dtype.primitive_bitwidth
    )
