"""What a pipe keeps from being written while a reader has it: a product may read there later than the kernel loads.

Between the load of a product's operand and the product a kernel may arrive at barriers, as where it gives back another
pipe's slot. Then somebody who waits there might write over the operand. A pipe of one slot rules that out: between
``acquire`` and ``commit`` its writer has the slot alone, and between ``wait`` and ``release`` its readers have. So a
buffer stays as it is from a load to a product behind it, in one block of a partition's code, if each store into it by
another partition

* goes to other elements, which is known where offsets are constants, or
* stands between the writer's wait for a pipe's ``empty`` and its arrival at that pipe's ``full``, while load and
  product stand between this partition's wait for ``full`` and its arrival at ``empty``.

Pipes of more slots would need the numbers of the slots, and barriers by hand the phases: nothing is said of those, nor
of kernels whose blocks reach each other's memory. Phases are those that a pipe's functions compute of the numbers that
the kernel gives them, one for each slot that is filled.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from tle_raw.flir.nvidia.buffer_types import read_buffer_type
from tle_raw.flir.nvidia.constant_places import ConstantPlaces
from tle_raw.flir.nvidia.hide_accesses import ACCESS
from tle_raw.flir.nvidia.load_in_place import rectangle
from tle_raw.flir.nvidia.partitions import PARTITIONS, SPECIALIZE
from tle_raw.flir.nvidia.shared_pointers import ADDRESS, ALLOC, LOADS, SharedPointers, follow_buffers
from tle_raw.linker.mlir.generic_operation import read_generic
from tle_raw.linker.mlir.generic_tree import Block, Operation, Value
from tle_raw.regions.clusters import CLUSTER
from tle_raw.regions.ports import PART

_WAIT, _ARRIVE = "ttng.wait_barrier", "ttng.arrive_barrier"
_ARRIVALS = (_ARRIVE, "ttng.barrier_expect", "ttng.async_copy_mbarrier_arrive")
_PIPE = re.compile(r'tle\.name = "([^"]*)\.(full|empty)"')
_ONE_SLOT, _ONE = "!ttg.memdesc<1x1xi64,", "!ttg.memdesc<1x"
_INDEX, _SUBSLICE = "ttg.memdesc_index", "ttg.memdesc_subslice"
_OFFSETS = re.compile(r"offsets = array<i32: ([\d, ]+)>")
_HIDDEN = f'symbol = "{ACCESS}"'
_STORES = ("tt.store", "ttg.local_store")
# What makes other values of a buffer or its address, hands it on, or reads it.
_HARMLESS = (
    *("ttg.memdesc", "ttg.convert_layout", "ttg.local_load", "ttg.local_dealloc", "ttg.warp_", "scf."),
    *("tti.", "arith.", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.addptr", "tt.int_to_ptr", *LOADS),
    *("ttng.warp_group_dot", "ttng.async_tma_copy_local_to_global", "ttng.async_tma_reduce"),
)


class PipeWindows:
    """Of a kernel's lines in generic form; the module is read when the first load is asked about."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines, self._places = lines, ConstantPlaces()

    def keep(self, load_line: int, product_line: int, between: Collection[int]) -> bool:
        """Whether what a line loads of a buffer is still there at the line of a product.

        ``between`` are the lines there that may write shared memory, or let others do so.
        """
        load, product = self._at.get(load_line), self._at.get(product_line)
        if load is None or product is None or load.parent is not product.parent:
            return False
        partition, buffers = _partition(load), self._pointers.of(load.operands[0])
        if partition is None or len(buffers) != 1 or self._reaches_other_blocks:
            return False
        if not all(number in self._at and self._leaves(self._at[number], buffers) for number in between):
            return False
        pipes = self._open(load, product)
        return all(
            self._is_within(store, pipes) or self._are_apart(store, load)
            for store in self._writers(buffers)
            if _partition(store) not in (None, partition)
        )

    @cached_property
    def _pointers(self) -> SharedPointers:
        return follow_buffers(self._lines)

    @cached_property
    def _at(self) -> dict[int, Operation]:
        return {each.line: each for each in self._pointers.walk()}

    @cached_property
    def _reaches_other_blocks(self) -> bool:
        return bool(self._pointers.remote) or any(CLUSTER in line for line in self._lines)

    def _leaves(self, operation: Operation, buffers: frozenset[Value]) -> bool:
        """Whether an operation of the partition that multiplies leaves these buffers to the others."""
        if operation.name == _ARRIVE:
            return True
        is_store = operation.name in _STORES or _HIDDEN in operation.details
        return is_store and not any(self._pointers.of(value) & buffers for value in operation.operands)

    def _open(self, load: Operation, product: Operation) -> frozenset[str]:
        """The pipes that gave this partition a slot before the load, and get it back behind the product alone."""
        beside, own = load.parent.operations, list(self._inside(load))
        found = set()
        for pipe in {self._pipe(each, "full") for each in beside if each.name == _WAIT} - {""}:
            waits = [each.line for each in beside if each.name == _WAIT and self._pipe(each, "full") == pipe]
            given = [each for each in own if each.name in _ARRIVALS and self._pipe(each, "empty") == pipe]
            is_behind = all(each.parent is load.parent and product.line < each.line for each in given)
            if len(waits) == 1 and waits[0] < load.line and given and is_behind:
                found.add(pipe)
        return frozenset(found)

    def _is_within(self, store: Operation, pipes: frozenset[str]) -> bool:
        """Whether a store stands where the writer of one of the pipes has its slot."""
        beside, own = store.parent.operations, list(self._inside(store))
        for pipe in pipes:
            waits = [each.line for each in beside if each.name == _WAIT and self._pipe(each, "empty") == pipe]
            last = max((line for line in waits if line < store.line), default=None)
            ends = [each for each in own if each.name in _ARRIVALS and self._pipe(each, "full") == pipe]
            is_ended = any(each.parent is store.parent and store.line < each.line for each in ends)
            if last is not None and is_ended and not any(last < each.line < store.line for each in ends):
                return True
        return False

    def _writers(self, buffers: frozenset[Value]) -> Iterator[Operation]:
        """What stores into a buffer, or may."""
        for each in self._pointers.walk():
            if not each.name.startswith(_HARMLESS) and any(self._pointers.of(v) & buffers for v in each.operands):
                yield each

    def _inside(self, operation: Operation) -> Iterator[Operation]:
        """All operations of its partition."""
        partition = _partition(operation)
        return (each for each in self._pointers.walk() if _partition(each) is partition)

    def _pipe(self, operation: Operation, side: str) -> str:
        """The name of the pipe of one slot whose barrier an operation works on; "" of another one."""
        buffers = self._pointers.of(operation.operands[0])
        alloc = next(iter(buffers)).definition if len(buffers) == 1 else None
        named = _PIPE.search(alloc.details) if alloc is not None else None
        if alloc is None or named is None or named[2] != side or not alloc.results[0].type.startswith(_ONE_SLOT):
            return ""
        return named[1] if self._named.count(named[0]) == 1 else ""

    @cached_property
    def _named(self) -> list[str]:
        """The names of all pipes' barriers: two pipes may share one."""
        allocs = (each for each in self._pointers.walk() if each.name == ALLOC)
        return [named[0] for each in allocs if (named := _PIPE.search(each.details))]

    # --- which elements --------------------------------------------------------------------------------------------

    def _are_apart(self, store: Operation, load: Operation) -> bool:
        """Whether a store by pointers goes to other elements than those that are loaded, of a buffer's only slot."""
        pointer, part = store.operands[0], load.operands[0].definition
        made = pointer.definition
        while made is not None and made.name == "ttg.convert_layout":
            made = made.operands[0].definition
        if _HIDDEN not in store.details or made is None or part is None or part.name != _SUBSLICE:
            return False
        offsets, place = _OFFSETS.search(part.details), self._places.of(pointer)
        address = place[0].definition if place else None
        while address is not None and address.name == "arith.extui":
            address = address.operands[0].definition
        if place is None or offsets is None or address is None or not address.name.startswith(ADDRESS):
            return False
        note = read_generic(self._lines[made.line]).attribute(PART).strip('"')
        start, shape = [int(each) for each in offsets[1].split(",")], read_buffer_type(part.results[0].type, {}).dims
        if ":" not in note or any(first % dim for first, dim in zip(start, shape)):
            return False
        if not (self._is_all(address.operands[0]) and self._is_all(part.operands[0])):
            return False
        return place[1].isdisjoint(rectangle(note, start, shape))

    def _is_all(self, view: Value) -> bool:
        """Whether a view is the only slot of an allocation."""
        slots = view.definition
        if slots is None or slots.name != _INDEX:
            return False
        whole = slots.operands[0]
        known = (read_buffer_type(each.type, {}).dims for each in self._pointers.of(whole))
        return whole.type.startswith(_ONE) and all(dims == read_buffer_type(whole.type, {}).dims for dims in known)


def _partition(operation: Operation) -> Block | None:
    """The block of the partition in which an operation stands; None outside."""
    inner = operation
    for above in operation.ancestors():
        if above.name in (PARTITIONS, SPECIALIZE):
            return inner.parent
        inner = above
    return None
