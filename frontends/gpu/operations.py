"""The operations of ``ttg`` and ``ttng`` that TLE-Struct is made of: one record each.

``make`` writes the operation with a ``GluonOpBuilder``; its methods differ between versions of Triton, and this is the
only place that knows how. ``interpret`` does the same at once on NumPy arrays, for Triton's interpreter: there a buffer
is an array, and a view of it NumPy's view. Both take the same arguments. How an operation crosses Triton's conversion
of layouts is the same for all (``tle_raw/flir/nvidia/open_crossings.py``); what it means on the CPU stands in
``tle_raw/flir/cpu/convert``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from triton._C.libtriton import ir
from triton.language import core

from tle_raw.frontends.gpu import interpreted_barriers
from tle_raw.frontends.gpu.buffered_tensor import BufferType, tensor_type
from tle_raw.frontends.gpu.gluon_builder import builder_here
from tle_raw.frontends.gpu.layouts.padded import padded_shared_layout
from tle_raw.frontends.gpu.layouts.shared_layout import memory_bits
from tle_raw.frontends.gpu.layouts.swizzled import swizzled_shared_layout
from tle_raw.regions.stages import compiled_target
from tle_raw.triton_types import Semantic
from tle_raw.triton_version import VERSION

_UNWRITTEN = 0xFF  # of a buffer's bytes in the interpreter: NaN, and -1


@dataclass(frozen=True)
class Operation:
    """An operation of Triton's GPU dialects.

    Attributes
    ----------
    name : in Triton's IR.
    touches_tensors : whether it has a tensor as operand or result, and must cross the conversion as a marker.
    make : ``make(builder, *arguments)`` writes it, and gives its result's handle.
    interpret : ``interpret(*arguments)`` does it.
    """

    name: str
    make: Callable[..., Any]
    interpret: Callable[..., Any]
    touches_tensors: bool = False


def perform(operation: Operation, semantic: Semantic, generator: Any, *arguments: Any) -> Any:
    """Write an operation into the kernel that is traced, or do it in Triton's interpreter (``generator`` is None)."""
    if generator is None:
        return operation.interpret(*arguments)
    with builder_here(semantic, generator.context) as builder:
        return operation.make(builder, *arguments)


# --- buffers and their views --------------------------------------------------------------------------------------


def numpy() -> Any:
    """Only Triton's interpreter needs it: compiling kernels does without."""
    import numpy

    return numpy


def _numpy_dtype(dtype: Any) -> Any:
    from triton.runtime.interpreter import _get_np_dtype

    return numpy().dtype(_get_np_dtype(dtype))


def _unwritten(type_: BufferType) -> Any:
    dtype = _numpy_dtype(type_.memory_dtype)
    count = prod(type_.memory) * dtype.itemsize
    return numpy().full(count, _UNWRITTEN, "uint8").view(dtype).reshape(type_.memory)


def _reinterpreted(type_: BufferType, buffer: Any) -> Any:
    dtype = _numpy_dtype(type_.memory_dtype)
    count = prod(type_.memory)
    return buffer.reshape(-1).view(dtype)[:count].reshape(type_.memory)


def _cut(type_: BufferType, buffer: Any, offsets: Sequence[int]) -> Any:
    return buffer[tuple(slice(offset, offset + dim) for offset, dim in zip(offsets, type_.memory))]


LOCAL_ALLOC = Operation(
    "ttg.local_alloc",
    lambda g, type_: g.create_local_alloc(type_.to_ir(g)),
    _unwritten,
)
LOCAL_DEALLOC = Operation("ttg.local_dealloc", lambda g, buffer: g.create_local_dealloc(buffer), lambda buffer: None)
MEMDESC_INDEX = Operation(
    "ttg.memdesc_index",
    lambda g, type_, buffer, index: g.create_memdesc_index(type_.to_ir(g), buffer, index),
    lambda type_, buffer, index: buffer[int(index.data.item())],
)
MEMDESC_SUBSLICE = Operation(
    "ttg.memdesc_subslice",
    lambda g, type_, buffer, offsets: g.create_memdesc_subslice(type_.to_ir(g), buffer, list(offsets)),
    _cut,
)
MEMDESC_TRANS = Operation(
    "ttg.memdesc_trans",
    lambda g, buffer, order: g.create_memdesc_trans(buffer, list(order)),
    lambda buffer, order: buffer.transpose(order),
)
MEMDESC_REINTERPRET = Operation(
    "ttg.memdesc_reinterpret",
    lambda g, type_, buffer: g.create_memdesc_reinterpret(type_.to_ir(g), buffer),
    _reinterpreted,
)

# --- their content ------------------------------------------------------------------------------------------------


def _loaded(type_: BufferType, buffer: Any) -> Any:
    from triton.runtime.interpreter import TensorHandle

    return TensorHandle(buffer.copy(), type_.memory_dtype)


def _stored(buffer: Any, value: Any) -> None:
    buffer[...] = value.data


LOCAL_LOAD = Operation(
    "ttg.local_load",
    lambda g, type_, buffer: g.create_local_load(tensor_type(type_).to_ir(g), buffer),
    _loaded,
    touches_tensors=True,
)
LOCAL_STORE = Operation(
    "ttg.local_store",
    lambda g, buffer, value: g.create_local_store(buffer, value),
    _stored,
    touches_tensors=True,
)

# --- where they lie -----------------------------------------------------------------------------------------------

# The note on a load that stands for a number: no operation of Triton's own tells a buffer's address in Triton IR.
TOLD, ADDRESS, NUMBER = "tle.told", "address", "tle_told"


def _make_told(g: Any, type_: BufferType, buffer: Any, what: str) -> Any:
    if VERSION == (3, 8) and type_.is_part:  # which that Triton sees as nothing else
        return _number_of(g, *_element_of(g, type_, buffer, what))
    layout: Any = swizzled_shared_layout.make_default(1)
    if isinstance(type_.layout, padded_shared_layout):  # Triton sees one with gaps as another with these gaps alone
        layout = padded_shared_layout([list(pair) for pair in type_.layout.intervals], [1])
    word = core.dtype(f"int{memory_bits(type_.dtype)}")
    view = type_.changed(dtype=word, shape=(1,), memory=(1,), whole=(1,), layout=layout)
    seen = _word_of(g, type_, view, buffer)
    load = g.create_local_load(core.block_type(word, [1]).to_ir(g), seen)
    load.set_attr(TOLD, g.get_string_attr(what))
    return _number_of(g, load, [1])


def _number_of(g: Any, loaded: Any, shape: list[int]) -> Any:
    """As what a tensor of one element is passed on."""
    numbers = core.block_type(core.int64, shape).to_ir(g)
    return g.create_unsplat(g.create_extern_elementwise("", "", NUMBER, [loaded], numbers, True))


def _element_of(g: Any, type_: BufferType, buffer: Any, what: str) -> tuple[Any, list[int]]:
    """One element of all, as a tensor with its shape: nothing of this is left when the number is known."""
    value, shape = g.create_local_load(tensor_type(type_).to_ir(g), buffer), list(type_.memory)
    value.set_attr(TOLD, g.get_string_attr(what))
    for axis in (axis for axis, dim in enumerate(type_.memory) if dim > 1):
        shape[axis] = 1
        first = g.create_splat(core.block_type(core.int32, shape).to_ir(g), g.get_int32(0))
        value = g.create_gather(value, first, axis)
        value.set_attr(TOLD, g.get_string_attr("element"))
    return value, shape


def _word_of(g: Any, type_: BufferType, view: BufferType, buffer: Any) -> Any:
    """A view of one word. Triton 3.8 wants one of all words first: each is a slot, whatever their number."""
    if VERSION != (3, 8):
        return g.create_memdesc_reinterpret(view.to_ir(g), buffer)
    slots = (prod(type_.memory), 1)
    words = g.create_memdesc_reinterpret(view.changed(memory=slots, whole=slots).to_ir(g), buffer)
    word = g.create_memdesc_index(view.to_ir(g), words, g.get_int32(0))
    for value in (words, word):
        value.set_attr(TOLD, g.get_string_attr("view"))
    return word


def _told(type_: BufferType, buffer: Any, what: str) -> Any:
    from triton.runtime.interpreter import TensorHandle

    if what == ADDRESS:
        number = buffer.__array_interface__["data"][0]
    else:
        number = buffer.strides[int(what)] // buffer.itemsize
    return TensorHandle(numpy().array([number], "int64"), core.int64)


# A number of the program's: the address of a buffer's first element; where layouts mean nothing, how many elements lie
# between two along the axis of this number.
LOCAL_TOLD = Operation("ttg.local_load", _make_told, _told, touches_tensors=True)

# --- asynchronous copies ------------------------------------------------------------------------------------------


def _make_async_copy(g: Any, buffer: Any, pointers: Any, mask: Any, other: Any) -> None:
    mask = ir.value() if mask is None else mask
    other = ir.value() if other is None else other
    if VERSION >= (3, 9):
        policy = g.get_nvidia_cache_policy(None, None, None, None, None, None)
        g.create_async_copy_global_to_local(buffer, pointers, mask, other, policy, False)
    else:
        modifier, eviction = ir.CACHE_MODIFIER.NONE, ir.EVICTION_POLICY.NORMAL
        g.create_async_copy_global_to_local(buffer, pointers, mask, other, modifier, eviction, False)


def _copied(buffer: Any, pointers: Any, mask: Any, other: Any) -> None:
    from triton.runtime.interpreter import TensorHandle, interpreter_builder

    taken = numpy().ones_like(pointers.data, dtype=bool) if mask is None else mask.data.astype(bool)
    mask = TensorHandle(taken, core.int1)
    hints = (None,) if VERSION >= (3, 9) else (None, None)
    _stored(buffer, interpreter_builder.create_masked_load(pointers, mask, other, *hints, False))


ASYNC_COPY = Operation("ttg.async_copy_global_to_local", _make_async_copy, _copied, touches_tensors=True)
ASYNC_COMMIT_GROUP = Operation("ttg.async_commit_group", lambda g: g.create_async_commit_group(), lambda: None)
ASYNC_WAIT = Operation("ttg.async_wait", lambda g, groups: g.create_async_wait_group(groups), lambda groups: None)

# --- products -----------------------------------------------------------------------------------------------------

WGMMA_WAIT = Operation(
    "ttng.warp_group_dot_wait",
    lambda g, acc, pendings: g.create_warpgroup_mma_wait([acc], pendings)[0],
    lambda acc, pendings: acc,
    touches_tensors=True,
)

# --- tensor memory ------------------------------------------------------------------------------------------------

TMEM_ALLOC = Operation("ttng.tmem_alloc", lambda g, type_: g.create_tmem_alloc(type_.to_ir(g), None), _unwritten)
TMEM_LOAD = Operation(
    "ttng.tmem_load",
    lambda g, type_, buffer: g.create_tmem_load(tensor_type(type_).to_ir(g), buffer),
    _loaded,
    touches_tensors=True,
)
TMEM_STORE = Operation(
    "ttng.tmem_store",
    lambda g, buffer, value: g.create_tmem_store(buffer, value, g.get_int1(True)),
    _stored,
    touches_tensors=True,
)


def _make_columns(g: Any, type_: BufferType, buffer: Any, offsets: Sequence[int]) -> Any:
    more = (1,) if VERSION >= (3, 9) else ()  # the axis
    return g.create_tmem_subslice(type_.to_ir(g), buffer, offsets[1], *more)


def _make_mma(g: Any, a: Any, b: Any, accumulator: Any) -> None:
    yes = g.get_int1(True)
    g.create_tcgen05_mma(a, b, accumulator, yes, yes, [], [], False, *((False,) if VERSION >= (3, 7) else ()))


def _make_commit(g: Any, barrier: Any) -> None:
    g.create_tcgen05_commit(barrier, *((g.get_int1(True), []) if VERSION >= (3, 7) else ()))


TMEM_SUBSLICE = Operation("ttng.tmem_subslice", _make_columns, _cut)
# Products of GPUs alone: elsewhere they are `tl.dot`.
TMEM_MMA = Operation("ttng.tc_gen5_mma", _make_mma, lambda *arguments: None)
TMEM_COMMIT = Operation("ttng.tc_gen5_commit", _make_commit, lambda barrier: None)
FENCE = Operation("ttng.fence_async_shared", lambda g: g.create_fence_async_shared(False), lambda: None)

# --- barriers -----------------------------------------------------------------------------------------------------


def _make_barriers(g: Any, type_: Any, name: str) -> Any:
    handle = g.create_local_alloc(type_.to_ir(g))
    if name:
        handle.set_attr("tle.name", g.get_string_attr(name))
    if type_.ready and compiled_target() == "cpu":  # where checks count uses
        handle.set_attr("tle.ready", g.get_string_attr(""))
    one = type_.changed_slots(0)
    for slot in range(type_.slots or 1):
        made = g.create_memdesc_index(one.to_ir(g), handle, g.get_int32(slot)) if type_.slots else handle
        g.create_mbarrier_init(made, type_.arrive_count)
    return handle


def _make_arrive(g: Any, barrier: Any, count: int, predicate: Any = None) -> None:
    predicate = g.get_int1(True) if predicate is None else predicate
    g.create_mbarrier_arrive(barrier, count, *((0, predicate) if VERSION == (3, 8) else (predicate,)))


def _make_expect(g: Any, barrier: Any, bytes_: int) -> None:
    g.create_mbarrier_expect(barrier, bytes_, g.get_int1(True))


def _make_word(g: Any, barrier: Any, note: str) -> Any:
    word = g.create_local_load(core.block_type(core.int64, [1]).to_ir(g), barrier)
    word.set_attr("tle.note", g.get_string_attr(note))
    return word


def _make_barrier_address(g: Any, barrier: Any) -> Any:
    word = g.create_local_load(core.block_type(core.int64, [1]).to_ir(g), barrier)
    word.set_attr(TOLD, g.get_string_attr(ADDRESS))
    return _number_of(g, word, [1])


BARRIER_ALLOC = Operation("ttng.init_barrier", _make_barriers, interpreted_barriers.allocate)
BARRIER_INDEX = Operation(
    "ttg.memdesc_index",
    lambda g, type_, barriers, index: g.create_memdesc_index(type_.to_ir(g), barriers, index),
    lambda type_, barriers, index: barriers[int(index.data.item())],
)
BARRIER_WAIT = Operation(
    "ttng.wait_barrier",
    lambda g, barrier, parity: g.create_mbarrier_wait(barrier, parity, g.get_int1(True), []),
    lambda barrier, parity: interpreted_barriers.wait(barrier, int(parity.data.item())),
)
BARRIER_ARRIVE = Operation("ttng.arrive_barrier", _make_arrive, interpreted_barriers.arrive)
# Each thread arrives when the copies that it began are done, and until then its arrival is one more that is missing:
# a phase has as many of the others as before.
ASYNC_ARRIVE = Operation(
    "ttng.async_copy_mbarrier_arrive",
    lambda g, barrier: g.create_async_copy_mbarrier_arrive(barrier, True),
    lambda barrier: None,
)
BARRIER_EXPECT = Operation(
    "ttng.barrier_expect", _make_expect, lambda barrier, bytes_: interpreted_barriers.arrive(barrier, 1, bytes_)
)
# The eight bytes themselves, for a region, and as it leaves them.
BARRIER_WORD = Operation("ttg.local_load", _make_word, interpreted_barriers.word, touches_tensors=True)
BARRIER_UPDATE = Operation(
    "ttg.local_store", lambda g, barrier, word: g.create_local_store(barrier, word), _stored, touches_tensors=True
)
# Where it lies, for another block of the cluster: Triton's interpreter has none.
BARRIER_ADDRESS = Operation("ttg.local_load", _make_barrier_address, lambda barrier: None, touches_tensors=True)
# One that is made again for each wait, in memory that stays its own.
BARRIER_MEMORY = Operation("ttg.local_alloc", lambda g, type_: g.create_local_alloc(type_.to_ir(g)), lambda type_: None)
BARRIER_INIT = Operation(
    "ttng.init_barrier", lambda g, barrier: g.create_mbarrier_init(barrier, 1), lambda barrier: None
)
BARRIER_INVALIDATE = Operation(
    "ttng.inval_barrier", lambda g, barrier: g.create_mbarrier_inval(barrier), lambda barrier: None
)

# --- partitions ---------------------------------------------------------------------------------------------------


def specialize(g: Any, results: list[Any], captures: list[Any], warps: list[int]) -> Any:
    """``ttg.warp_specialize``, still empty. Which of two operations has the captures differs between versions."""
    try:
        return g.create_warp_specialize(results, captures, warps)
    except TypeError:
        return g.create_warp_specialize(results, warps)


def partitions(g: Any, captures: list[Any], count: int) -> Any:
    """``ttg.warp_specialize.partitions`` with so many empty regions."""
    try:
        return g.create_warp_specialize_partitions(count)
    except TypeError:
        return g.create_warp_specialize_partitions(captures, count)


# --- TMA ----------------------------------------------------------------------------------------------------------

# Up to Triton 3.6 a copy by a descriptor is verified without the descriptor's layout, which Triton IR does not have.
HAS_TMA_COPY = VERSION < (3, 7)


def _make_tma_load(g: Any, descriptor: Any, coordinates: Sequence[Any], barrier: Any, buffer: Any) -> None:
    g.create_async_tma_copy_global_to_local(descriptor, list(coordinates), barrier, buffer, g.get_int1(True))


def _make_named_barrier(g: Any, barrier: Any, never: Any, bytes_: int) -> None:
    """An arrival that never is one: it tells ``join_tma_copies`` of the barrier."""
    _make_arrive(g, barrier, 1, never)


TMA_LOAD = Operation("ttng.async_tma_copy_global_to_local", _make_tma_load, lambda *arguments: None)
TMA_BARRIER = Operation(
    "ttng.arrive_barrier",
    _make_named_barrier,
    lambda barrier, never, bytes_: interpreted_barriers.arrive(barrier, 0, -bytes_),
)
