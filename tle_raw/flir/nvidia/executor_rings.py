"""The rings of a loop with several executors: their memory and barriers, as text.

Of each ring there is one for the writer, with all values that it hands to anybody; each reader gives a slot back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tle_raw.flir.nvidia.executor_slots import STORE, TMA, Field, barrier_type, field_of
from tle_raw.flir.nvidia.executor_text import LESS, TRUE, ZERO, ExecutorText, Named
from tle_raw.flir.split_executors import Part, Split
from tle_raw.linker.mlir.generic_tree import Value

_WAIT = "operandSegmentSizes = array<i32: 1, 1, 1, 0>"
_TMA = "cache = 1 : i32, evict = 1 : i32, isVolatile = false"


@dataclass
class Ring:
    """What one executor hands to others."""

    writer: int
    fields: list[Field]
    readers: list[int]

    @property
    def expected(self) -> int:
        """Bytes that the copy engine brings into a slot."""
        return sum(each.bytes for each in self.fields if each.transport == TMA)

    @property
    def transports(self) -> set[str]:
        """Of its fields."""
        return {each.transport for each in self.fields}


def find_rings(split: Split, uses: Sequence[set[Value]], lines: list[str], capability: int) -> list[Ring]:
    """The rings of a loop.

    Parameters
    ----------
    uses : of each operation of the body the values that it uses.
    """
    rings = []
    for part in (part for part in split.parts if part.writes):
        fields = []
        for value in part.writes:
            is_used = any(value in uses[place] for place in part.places)
            is_carried = any(split.yielded[number] is value for number in part.carried)
            fields.append(field_of(value, lines, capability, is_used=is_used or is_carried))
        readers = [each.number for each in split.parts if any(value in each.reads for value in part.writes)]
        rings.append(Ring(part.number, sorted(fields, key=lambda each: each.made.line), readers))
    return rings


class RingText:
    """Writes what rings need.

    Attributes
    ----------
    slots : of each ring.
    has_tma_copy : whether Triton IR takes the copy engine's own operation.
    """

    def __init__(self, text: ExecutorText, slots: int, *, has_tma_copy: bool) -> None:
        self.text, self.slots, self.has_tma_copy = text, slots, has_tma_copy

    def barriers(self, ring: Ring) -> tuple[str, str]:
        """The names of those at which a slot is full, and empty again."""
        return f"{self.text.prefix}_full{ring.writer}", f"{self.text.prefix}_empty{ring.writer}"

    def memory(self, ring: Ring, each: Field) -> str:
        """The name of all slots of a field."""
        return f"{self.text.prefix}_slots{ring.writer}_{ring.fields.index(each)}"

    def captured(self, rings: Sequence[Ring], part: Part) -> list[Named]:
        """What an executor needs of its rings."""
        given: list[Named] = []
        for ring in rings:
            if part.number in (ring.writer, *ring.readers):
                given += [(name, barrier_type(self.slots)) for name in self.barriers(ring)]
                given += [(self.memory(ring, each), each.type(self.slots)) for each in ring.fields]
        return given

    def allocate(self, ring: Ring) -> list[str]:
        """Memory, and barriers that nobody has come to."""
        text, made = self.text, list[str]()
        for each in ring.fields:
            note = f'tle.name = "{each.value.name.lstrip("%").split("#")[0]}"'
            kind = each.type(self.slots)
            made.append(text.make(self.memory(ring, each), "ttg.local_alloc", [], kind, attributes=note))
        for name, count in zip(self.barriers(ring), (1, len(ring.readers))):
            made.append(text.make(name, "ttg.local_alloc", [], barrier_type(self.slots)))
            for slot in range(self.slots):
                one, index = f"{name}_{slot}", text.number(made, slot)
                made.append(self._at(one, (name, barrier_type(self.slots)), index, barrier_type()))
                made.append(text.do("ttng.init_barrier", [(one, barrier_type())], f"count = {count} : i32"))
        return made

    def invalidate(self, ring: Ring) -> list[str]:
        """The barriers' memory is free for other things."""
        names = (f"{name}_{slot}" for name in self.barriers(ring) for slot in range(self.slots))
        return [self.text.do("ttng.inval_barrier", [(name, barrier_type())]) for name in names]

    def barrier(self, made: list[str], name: str, slot: str) -> str:
        """The barrier of a slot."""
        one = self.text.name()
        made.append(self._at(one, (name, barrier_type(self.slots)), slot, barrier_type()))
        return one

    def place(self, made: list[str], ring: Ring, each: Field, slot: str) -> str:
        """The buffer of a value in a slot."""
        one = self.text.name()
        made.append(self._at(one, (self.memory(ring, each), each.type(self.slots)), slot, each.type()))
        return one

    def wait(self, made: list[str], one: str, phase: str) -> None:
        """Until a phase of a barrier is complete."""
        made.append(self.text.do("ttng.wait_barrier", [(one, barrier_type()), (phase, "i32"), (TRUE, "i1")], _WAIT))

    def arrive(self, made: list[str], one: str, predicate: str = TRUE) -> None:
        """One arrival of the executor."""
        made.append(self.text.do("ttng.arrive_barrier", [(one, barrier_type()), (predicate, "i1")], "count = 1 : i32"))

    def expect(self, made: list[str], one: str, count: int) -> None:
        """One arrival, and so many bytes to come."""
        made.append(self.text.do("ttng.barrier_expect", [(one, barrier_type()), (TRUE, "i1")], f"size = {count} : i32"))

    def load(self, made: list[str], each: Field, buffer: str) -> None:
        """A value from its buffer."""
        if not each.is_scalar:
            made.append(self.text.make(each.value.name, "ttg.local_load", [(buffer, each.type())], each.tensor))
            return
        one = self.text.name()
        made.append(self.text.make(one, "ttg.local_load", [(buffer, each.type())], each.tensor))
        made.append(self.text.make(each.value.name, "tt.unsplat", [(one, each.tensor)], each.value.type))

    def store(self, made: list[str], each: Field, buffer: str) -> None:
        """A value into its buffer."""
        assert each.transport == STORE
        name = each.value.name
        if each.is_scalar:
            name = self.text.name()
            made.append(self.text.make(name, "tt.splat", [(each.value.name, each.value.type)], each.tensor))
        made.append(self.text.do("ttg.local_store", [(name, each.tensor), (buffer, each.type())]))

    def begin_copy(self, made: list[str], each: Field, buffer: str, barrier: str) -> None:
        """A copy of the copy engine; from Triton 3.7 on what ``join_tma_copies`` takes for one."""
        load, text = each.made, self.text
        places = [(value.name, "i32") for value in load.operands[1:]]
        descriptor = (load.operands[0].name, load.operands[0].type)
        if self.has_tma_copy:
            operands = [descriptor, *places, (barrier, barrier_type()), (buffer, each.type()), (TRUE, "i1")]
            made.append(text.do("ttng.async_tma_copy_global_to_local", operands, _TMA))
            return
        value, program = each.value.name, text.name()
        note = 'tle.note = "tma"'
        made.append(text.make(value, "tt.descriptor_load", [descriptor, *places], each.tensor, attributes=note))
        made.append(text.do("ttg.local_store", [(value, each.tensor), (buffer, each.type())]))
        made.append(text.make(program, "tt.get_program_id", [], "i32", "axis = 0 : i32"))
        self.arrive(made, barrier, text.compare(made, LESS, program, ZERO))

    def _at(self, name: str, whole: Named, index: str, kind: str) -> str:
        return self.text.make(name, "ttg.memdesc_index", [whole, (index, "i32")], kind)
