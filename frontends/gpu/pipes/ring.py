"""The barriers of one slot: waited for and arrived at as ``tle.gpu.barrier_wait`` and ``barrier_arrive`` do."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.frontends.gpu import operations
from tle_raw.frontends.gpu.barrier_value import barrier
from tle_raw.frontends.gpu.buffered_tensor import BufferType, buffered_tensor
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.gpu.pipes.account import Window
from tle_raw.frontends.gpu.pipes.cursor import Place
from tle_raw.frontends.gpu.pipes.slot_field import made_field


def barrier_at(barriers: barrier, place: Place, semantic: Any, generator: Any) -> barrier:
    """The slot's own of a pipe's barriers."""
    one = barriers.type.changed_slots(0, place.stage if isinstance(place.stage, int) else place.iteration)
    made = perform(operations.BARRIER_INDEX, semantic, generator, one, barriers.handle, _number(place, semantic))
    result: barrier = one.of(made)
    return result


def wait(one: barrier, place: Place, semantic: Any, generator: Any) -> None:
    """Until the phase of this round is complete; of a barrier that begins as READY the one before."""
    phase = semantic.to_tensor(place.phase)
    if one.type.ready:
        phase = semantic.xor_(phase, semantic.to_tensor(1))
    perform(operations.BARRIER_WAIT, semantic, generator, one.handle, semantic.cast(phase, core.int32).handle)


def field_at(buffers: Any, name: str, place: Place, window: Window, semantic: Any, generator: Any) -> buffered_tensor:
    """A field of one slot."""
    one = slot_type(buffers.type)
    handle = perform(operations.MEMDESC_INDEX, semantic, generator, one, buffers.handle, _number(place, semantic))
    return made_field(handle, one, name, window)


def flag_at(flags: Any, place: Place, semantic: Any, generator: Any) -> tuple[Any, BufferType]:
    """The word of one slot that says whether the pipe is closed with it: its handle and its type."""
    one = slot_type(flags.type)
    return perform(operations.MEMDESC_INDEX, semantic, generator, one, flags.handle, _number(place, semantic)), one


def slot_type(buffers: BufferType) -> BufferType:
    """Of one slot."""
    memory = buffers.memory[1:]
    return buffers.changed(shape=buffers.shape[1:], memory=memory, whole=memory, origin=0, storage=None)


def _number(place: Place, semantic: Any) -> Any:
    return semantic.cast(semantic.to_tensor(place.stage), core.int32).handle
