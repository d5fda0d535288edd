"""The operations of ``ttg`` and ``ttng`` as builtins of kernels, made by Triton's Gluon builder, as front ends do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from triton._C.libtriton import gluon_ir, ir
from triton.language import core

from tle_raw.triton_version import VERSION

_contexts: list[Any] = []


@contextmanager
def builder_here(semantic: Any, generator: Any) -> Iterator[Any]:
    _contexts[:] = [generator.context]
    g = gluon_ir.GluonOpBuilder(generator.context)
    location = semantic.builder.get_loc()
    g.restore_insertion_point(semantic.builder.get_insertion_point())
    g.set_loc(location)
    try:
        yield g
    finally:
        semantic.builder.restore_insertion_point(g.get_insertion_point())
        semantic.builder.set_loc(location)


class buffer_type(core.base_type):
    """``rank`` dims share the layout; those in front count slots. ``whole`` is the shape that a part is cut from."""

    def __init__(
        self,
        dtype: Any,
        shape: Any,
        order: Any = None,
        whole: Any = None,
        tensor_memory: bool = False,
        nvmma: bool = False,
    ) -> None:
        self.dtype, self.shape = dtype, [int(s) for s in shape]
        rank = min(len(self.shape), 2)
        self.order = list(order) if order is not None else list(range(rank))[::-1]
        self.whole = list(whole) if whole is not None else self.shape
        self.tensor_memory, self.nvmma = tensor_memory, nvmma

    def to_ir(self, builder: Any) -> Any:
        g = gluon_ir.GluonOpBuilder(_contexts[0])
        element = self.dtype.to_ir(g)
        if self.tensor_memory:
            block = [min(128, self.whole[-2]), min(256, self.whole[-1])]
            more = ([], False, False) if VERSION >= (3, 8) else ([1, 1], False)
            layout = g.get_tensor_memory_layout(block, 1, *more)
            return g.get_tensor_mem_desc_ty(element, self.shape, layout, self.whole)
        if self.nvmma:
            layout = g.get_nvmma_shared_layout(128, self.dtype.primitive_bitwidth, False, False, [], 2)
        else:
            layout = g.get_swizzled_shared_layout(1, 1, 1, self.order, [])
        return g.get_shared_mem_desc_ty(element, self.shape, layout, self.whole)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def mangle(self) -> str:
        return f"B{self.dtype.mangle()}_{'x'.join(map(str, self.shape))}_{'x'.join(map(str, self.whole))}"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        out.append(self.to_ir(builder))

    def _unflatten_ir(self, handles: Any, cursor: int) -> Any:
        return buffer(handles[cursor], self), cursor + 1

    def changed(self, **more: Any) -> buffer_type:
        return buffer_type(**{**vars(self), **more})


class buffer(core.base_value):
    def __init__(self, handle: Any, type_: buffer_type) -> None:
        self.handle, self.type = handle, type_
        self.dtype, self.shape = type_.dtype, type_.shape

    def _flatten_ir(self, handles: list[Any]) -> None:
        handles.append(self.handle)

    def _set_name(self, builder: Any, name: str) -> None:
        self.handle.set_loc(builder.create_name_loc(name, self.handle.get_loc()))


def plain(x: Any) -> Any:
    return core._unwrap_if_constexpr(x)


def ints(x: Any) -> list[int]:
    return [int(plain(i)) for i in x]


def operation(function: Any) -> Any:
    """``function(g, semantic, *arguments)`` as a builtin."""

    def call(*arguments: Any, _semantic: Any = None, _generator: Any = None, **named: Any) -> Any:
        with builder_here(_semantic, _generator) as g:
            return function(g, _semantic, *map(plain, arguments), **{k: plain(v) for k, v in named.items()})

    call.__name__ = function.__name__
    call.__module__ = function.__module__
    # Triton asks the signature whether it shall hand over its code generator.
    setattr(call, core.TRITON_BUILTIN, True)
    return call


def _block(b: buffer) -> Any:
    return core.block_type(b.dtype, b.shape)


def _tensor(handle: Any, type_: buffer_type) -> Any:
    return core.tensor(handle, core.block_type(type_.dtype, type_.shape))


@operation
def alloc(g, semantic, shape, dtype, value=None, name="", nvmma=False, slots=False):
    dims = ints(shape)
    type_ = buffer_type(dtype, dims, order=range(len(dims) - 1)[::-1] if slots else None, nvmma=nvmma)
    handle = g.create_local_alloc(type_.to_ir(g), *([value.handle] if value is not None else []))
    if name:
        handle.set_attr("tle.name", semantic.builder.get_string_attr(name))
    return buffer(handle, type_)


@operation
def dealloc(g, semantic, b):
    g.create_local_dealloc(b.handle)


@operation
def slot(g, semantic, b, index):
    type_ = b.type.changed(shape=b.shape[1:], whole=None)
    return buffer(g.create_memdesc_index(type_.to_ir(g), b.handle, semantic.to_tensor(index).handle), type_)


@operation
def part(g, semantic, b, offsets, shape):
    type_ = b.type.changed(shape=ints(shape))
    return buffer(g.create_memdesc_subslice(type_.to_ir(g), b.handle, ints(offsets)), type_)


@operation
def trans(g, semantic, b, order):
    order = ints(order)
    moved = [order.index(axis) for axis in b.type.order]
    type_ = b.type.changed(shape=[b.shape[i] for i in order], whole=[b.type.whole[i] for i in order], order=moved)
    return buffer(g.create_memdesc_trans(b.handle, order), type_)


@operation
def reshape(g, semantic, b, shape):
    handle = g.create_memdesc_reshape(b.handle, ints(shape))
    return buffer(handle, b.type.changed(shape=ints(shape), whole=None, order=None))


@operation
def reinterpret(g, semantic, b, shape, dtype, slots=False):
    dims = ints(shape)
    type_ = buffer_type(dtype, dims, order=range(len(dims) - slots)[::-1])
    return buffer(g.create_memdesc_reinterpret(type_.to_ir(g), b.handle), type_)


@operation
def load(g, semantic, b):
    block = core.block_type(b.dtype, b.shape)
    return core.tensor(g.create_local_load(block.to_ir(g), b.handle), block)


@operation
def store(g, semantic, b, value):
    g.create_local_store(b.handle, value.handle)


@operation
def copy(g, semantic, b, pointers, mask=None, other=None):
    mask = ir.value() if mask is None else mask.handle
    other = ir.value() if other is None else other.handle
    if VERSION >= (3, 9):
        policy = g.get_nvidia_cache_policy(None, None, None, None, None, None)
        g.create_async_copy_global_to_local(b.handle, pointers.handle, mask, other, policy, False)
    else:
        modifier, eviction = ir.CACHE_MODIFIER.NONE, ir.EVICTION_POLICY.NORMAL
        g.create_async_copy_global_to_local(b.handle, pointers.handle, mask, other, modifier, eviction, False)


@operation
def commit(g, semantic):
    g.create_async_commit_group()


@operation
def wait_group(g, semantic, pendings):
    g.create_async_wait_group(pendings)


@operation
def fence(g, semantic):
    g.create_fence_async_shared(False)


@operation
def barriers(g, semantic, count, arrivals=1):
    type_ = buffer_type(core.int64, [count, 1], order=[0])
    made = buffer(g.create_local_alloc(type_.to_ir(g)), type_)
    one = type_.changed(shape=[1], whole=None)
    for number in range(count):
        g.create_mbarrier_init(g.create_memdesc_index(one.to_ir(g), made.handle, g.get_int32(number)), arrivals)
    return made


@operation
def expect(g, semantic, barrier, size):
    g.create_mbarrier_expect(barrier.handle, size, g.get_int1(True))


def _arrive(g, barrier, count, predicate):
    g.create_mbarrier_arrive(barrier.handle, count, *((0, predicate) if VERSION == (3, 8) else (predicate,)))


@operation
def arrive(g, semantic, barrier, count=1):
    _arrive(g, barrier, count, g.get_int1(True))


@operation
def wait(g, semantic, barrier, phase):
    g.create_mbarrier_wait(barrier.handle, semantic.to_tensor(phase).handle, g.get_int1(True), [])


@operation
def arrive_after_copies(g, semantic, barrier, increments):
    g.create_async_copy_mbarrier_arrive(barrier.handle, increments)


@operation
def invalidate(g, semantic, barrier):
    g.create_mbarrier_inval(barrier.handle)


@operation
def tma_load(g, semantic, descriptor, offsets, barrier, b):
    """Triton 3.6 has the operation; from 3.7 on it wants a layout that a descriptor of TTIR has not."""
    at = [semantic.to_tensor(offset).handle for offset in offsets]
    if VERSION < (3, 7):
        g.create_async_tma_copy_global_to_local(descriptor.handle, at, barrier.handle, b.handle, g.get_int1(True))
        return
    value = descriptor.load(offsets, _semantic=semantic)
    value.handle.set_attr("tle.note", semantic.builder.get_string_attr("tma"))
    g.restore_insertion_point(semantic.builder.get_insertion_point())
    g.create_local_store(b.handle, value.handle)
    semantic.builder.restore_insertion_point(g.get_insertion_point())
    never = semantic.less_than(semantic.program_id(0), semantic.to_tensor(0)).handle
    g.restore_insertion_point(semantic.builder.get_insertion_point())
    _arrive(g, barrier, 1, never)


@operation
def tma_store(g, semantic, descriptor, offsets, b):
    """Triton 3.6 has the operation; from 3.7 on it wants a layout that a descriptor of TTIR has not."""
    at = [semantic.to_tensor(offset).handle for offset in offsets]
    if VERSION < (3, 7):
        g.create_async_tma_copy_local_to_global(descriptor.handle, at, b.handle)
        return
    value = _tensor(g.create_local_load(_block(b).to_ir(g), b.handle), b.type)
    value.handle.set_attr("tle.note", semantic.builder.get_string_attr("tma"))
    semantic.builder.restore_insertion_point(g.get_insertion_point())
    descriptor.store(offsets, value, _semantic=semantic)
    g.restore_insertion_point(semantic.builder.get_insertion_point())


@operation
def store_wait(g, semantic, pendings):
    g.create_async_tma_store_wait(pendings, *([True] if VERSION >= (3, 8) else []))


@operation
def dot_wait(g, semantic, value, pendings):
    return core.tensor(g.create_warpgroup_mma_wait([value.handle], pendings)[0], value.type)


@operation
def tensor_memory(g, semantic, shape, dtype):
    type_ = buffer_type(dtype, ints(shape), tensor_memory=True)
    return buffer(g.create_tmem_alloc(type_.to_ir(g), None), type_)


@operation
def tmem_load(g, semantic, b):
    return _tensor(g.create_tmem_load(_block(b).to_ir(g), b.handle), b.type)


@operation
def tmem_store(g, semantic, b, value, predicate=True):
    g.create_tmem_store(b.handle, value.handle, semantic.to_tensor(predicate).handle)


@operation
def columns(g, semantic, b, start, length):
    type_ = b.type.changed(shape=[b.shape[0], length])
    more = (1,) if VERSION >= (3, 9) else ()
    return buffer(g.create_tmem_subslice(type_.to_ir(g), b.handle, start, *more), type_)


@operation
def mma(g, semantic, a, b, d, uses_d, barrier=None, predicate=True):
    yes = g.get_int1(True)
    barriers, conditions = ([barrier.handle], [yes]) if barrier is not None else ([], [])
    uses_d, predicate = (semantic.to_tensor(x).handle for x in (uses_d, predicate))
    more = (False,) if VERSION >= (3, 7) else ()
    g.create_tcgen05_mma(a.handle, b.handle, d.handle, uses_d, predicate, barriers, conditions, False, *more)


@operation
def mma_commit(g, semantic, barrier):
    g.create_tcgen05_commit(barrier.handle, *((g.get_int1(True), []) if VERSION >= (3, 7) else ()))
