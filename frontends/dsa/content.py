"""What a buffer holds, whole or in parts."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.frontends.dsa.local_buffer import local_buffer
from tle_raw.frontends.dsa.memories import CPU
from tle_raw.frontends.gpu import content, operations
from tle_raw.frontends.gpu.buffered_tensor import tensor_type
from tle_raw.frontends.gpu.local_ptr import local_ptr
from tle_raw.frontends.gpu.operations import perform
from tle_raw.regions.stages import compiled_target

# Of a load: elements that nobody wrote are read as poison, and only a buffer that nobody wrote at all is an error. What
# lies beyond the run-time size of a copy is computed with, and not copied out.
POISON = "tle.poison"


def load(buffer: local_buffer, semantic: Any, generator: Any) -> core.tensor:
    """All elements, as a block tensor."""
    if buffer.type.view is not None:
        return core.load(pointers(buffer, semantic, generator), _semantic=semantic)
    type_ = buffer.whole.type
    handle = perform(operations.LOCAL_LOAD, semantic, generator, type_, buffer.whole.handle)
    if generator is not None and compiled_target() == CPU:
        handle.set_attr(POISON, semantic.builder.get_string_attr(""))
    value = core.tensor(handle, tensor_type(type_))
    return semantic.cast(value, core.int1) if type_.dtype.is_bool() else value


def store(buffer: local_buffer, value: core.tensor, semantic: Any, generator: Any) -> None:
    """Write all elements."""
    if buffer.type.view is not None:
        core.store(pointers(buffer, semantic, generator), value, _semantic=semantic)
        return
    content.store(buffer.whole, value, _semantic=semantic, _generator=generator)


def pointers(buffer: local_buffer, semantic: Any, generator: Any) -> core.tensor:
    """One to each element."""
    shape = buffer.type.shape
    if (view := buffer.type.view) is None:
        return local_ptr(buffer.whole, None, _semantic=semantic, _generator=generator)
    indices = []
    for axis, (offset, size, stride) in enumerate(zip(buffer.offsets, view.sizes, view.strides)):
        index = along(axis, len(shape), size, semantic)
        index = semantic.mul(index, semantic.to_tensor(stride), False) if stride != 1 else index
        indices.append(semantic.add(index, semantic.to_tensor(offset), False))
    return local_ptr(buffer.whole, tuple(indices), _semantic=semantic, _generator=generator)


def within(sizes: list[Any], shape: tuple[int, ...], semantic: Any) -> core.tensor | None:
    """The mask of the first elements along each axis; None where it is all of them."""
    mask = None
    for axis, (size, dim) in enumerate(zip(sizes, shape)):
        if isinstance(size, int) and size >= dim:
            continue
        number = semantic.cast(semantic.to_tensor(size), core.int32)
        inside = semantic.less_than(along(axis, len(shape), dim, semantic), number)
        mask = inside if mask is None else semantic.and_(mask, inside)
    return None if mask is None else semantic.broadcast_impl_shape(mask, list(shape))


def along(axis: int, rank: int, count: int, semantic: Any) -> core.tensor:
    """0, 1, ... along an axis, of length 1 along the others."""
    number = semantic.arange(0, count)
    for other in range(rank):
        number = number if other == axis else semantic.expand_dims(number, other)
    return number
