"""The memory of shared buffers: allocation, loads and stores of whole tiles."""

from __future__ import annotations

from typing import Any

from tle_raw.flir.cpu.access_kinds import READ, WRITE
from tle_raw.flir.cpu.convert import access_log, buffer_checks, buffer_pointers, build, mbarriers, types
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.local_memories import SPACE
from tle_raw.flir.cpu.convert.memory import Load
from tle_raw.flir.cpu.convert.poison import POISON, PoisonedLoad
from tle_raw.flir.cpu.convert.region_buffers import BufferInPlace, may_be_unwritten, taken_in_place
from tle_raw.flir.cpu.convert.shared_buffers import NAME, SharedBuffer, allocate, buffer_of
from tle_raw.flir.cpu.convert.tiles import Index, ScalarBody, TileValue
from tle_raw.flir.cpu.convert.told import is_told
from tle_raw.flir.cpu.mlir_values import Operation, Value


class LocalLoad(Load):
    """The elements of a shared buffer, or of one in tensor memory."""

    from_user = False

    def __init__(self, kernel: Kernel, op: Operation, buffer: SharedBuffer) -> None:
        super().__init__(kernel, op, buffer.shape, buffer.element, buffer.pointers(), None, None)
        self.buffer = buffer

    def compute(self, body: ScalarBody, index: Index) -> Any:
        address = body.element(self.pointer, index)
        with self.op.location:
            buffer_checks.read(self.kernel, self.op, self.buffer, index)
            access_log.note_element(self.kernel, self.op, READ, address.pointer(), self.buffer.item_bytes)
            return types.from_memory(build.load(address.pointer(), types.in_memory(self.element)), self.element)


@converts("ttg.local_alloc", "ttng.tmem_alloc")
def local_alloc(kernel: Kernel, op: Operation) -> None:
    buffer = allocate(kernel, op.results[0].type, str(op.attributes[NAME].value) if NAME in op.attributes else "")
    buffer = buffer._replace(is_ready=mbarriers.READY in op.attributes)
    kernel.values[op.results[0]] = buffer
    if SPACE in op.attributes:
        kernel.local_allocations.append(op)
    buffer_pointers.allocated(kernel, buffer)
    buffer_checks.forget(kernel, buffer)
    if len(op.operands):
        write(kernel, op, buffer, kernel.tile(op.operands[0]))


@converts("ttg.local_dealloc")
def local_dealloc(kernel: Kernel, op: Operation) -> None:
    """The memory stays the buffer's own: who reads it now reads what is undefined."""
    buffer_checks.forget(kernel, buffer_of(kernel, op.operands[0]))


class BarrierTile(TileValue):
    """The word of a barrier, as a region gets it: where it is."""

    def __init__(self, barrier: SharedBuffer) -> None:
        super().__init__(barrier.shape, barrier.element)
        self.barrier = barrier

    def pointer(self) -> Value:
        """The address of the word."""
        return self.barrier.pointer


@converts("ttg.local_load", "ttng.tmem_load")
def local_load(kernel: Kernel, op: Operation) -> None:
    if is_told(op):
        buffer_pointers.tell(kernel, op)
        return
    buffer = buffer_of(kernel, op.operands[0])
    if mbarriers.NOTE in op.attributes and op.attributes[mbarriers.NOTE].value == mbarriers.BARRIER:
        buffer_checks.waited_in_region(kernel, buffer)
        kernel.values[op.results[0]] = BarrierTile(buffer)
        return
    in_place = taken_in_place(kernel, op)
    if in_place is not None:
        kernel.values[op.results[0]] = in_place
        return
    if buffer.stamps is None:
        kernel.set(op.results[0], LocalLoad(kernel, op, buffer))
        return
    if may_be_unwritten(kernel, op):
        buffer_checks.given_to_region(kernel, buffer)
    # What is checked is checked where it stands.
    load = PoisonedLoad if POISON in op.attributes else LocalLoad
    kernel.values[op.results[0]] = kernel.stored(load(kernel, op, buffer))
    if mbarriers.NOTE in op.attributes and str(op.attributes[mbarriers.NOTE].value).startswith(mbarriers.TMA):
        buffer_checks.reading_copy(kernel, buffer)


@converts("ttg.local_store")
def local_store(kernel: Kernel, op: Operation) -> None:
    value, target = list(op.operands)[:2]
    if isinstance(kernel.values.get(value), (BarrierTile, BufferInPlace)):
        return  # the region has worked on it
    buffer, stamp = buffer_of(kernel, target), None
    completing = mbarriers.completing_barrier(op) if kernel.debug else None
    if completing is not None:
        stamp = buffer_checks.phase_stamp(kernel, buffer, buffer_of(kernel, completing.operands[0]))
    write(kernel, op, buffer, kernel.tile(value), stamp)


def write(kernel: Kernel, op: Operation, buffer: SharedBuffer, source: TileValue, stamp: Value | None = None) -> None:
    """Write a tile into a buffer. ``stamp`` is what its bytes get while they are under way."""
    target = buffer.pointers()

    def element(body: ScalarBody, index: Index) -> None:
        with op.location:
            number = types.to_memory(body.element(source, index))
            buffer_checks.write(kernel, op, buffer, index, stamp)
            at = body.element(target, index).pointer()
            access_log.note_element(kernel, op, WRITE, at, buffer.item_bytes)
            build.store(number, at)

    kernel.for_each(buffer.shape, element)
