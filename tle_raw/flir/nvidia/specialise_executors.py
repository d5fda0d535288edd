"""Loops of ``tle.range`` whose groups have several executors become partitions of specialised warps.

::

    for k in ...:                                  warp_specialize:
      group 0: a = load(p + k)        ->             worker:   for k in ...: take a slot; copy into it; hand it over
      group 1: acc = dot(a, b, acc)                  default:  for k in ...: wait for it; acc = dot(slot, b, acc); give
                                                                             it back
      p += step                                      each has the variables and addresses that it needs

Who does what is ``split_executors``' to say. Between two executors stand as many slots as the loop has stages, each
with two barriers with phases (``executor_slots``). A worker's block tensors of before the loop are computed again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tle_raw.errors import Row, ScheduleError
from tle_raw.flir.loop_body import FOR
from tle_raw.flir.nvidia.convert_results import OWN_LAYOUT
from tle_raw.flir.nvidia.executor_slots import COPY, STORE, TMA, Field, barrier_type, copy_line, field_of
from tle_raw.flir.split_executors import Part, Split, split_executors
from tle_raw.linker.mlir.generic_operation import GenericOperation, read_generic
from tle_raw.linker.mlir.generic_tree import Operation, Value
from tle_raw.linker.mlir.locations import Locations
from tle_raw.linker.mlir.text import location_of

_NAMES = re.compile(r'"(?:[^"\\]|\\.)*"|%[\w$.\-]+(?:#\d+)?')
_VIEWS = ("tt.trans", "tt.reshape", "tt.expand_dims", "tt.broadcast")
_TURNED = "order = array<i32: 1, 0>"
_HOPPER = 90
_HALVES = ("f16", "bf16")
_COPY_WARP, _WARPS = 1, 4  # of a worker that only begins copies of the copy engine, and of others
_COUNTS = (1, 2, 4, 8, 16)  # of warps, that Triton's partitions have
_COPY_REGISTERS = 40
_GROUP, _MOST_WARPS = 4, 32
_TRUE, _ZERO, _ONE, _SLOTS = "%tle_true", "%tle_zero", "%tle_one", "%tle_slots"


@dataclass(frozen=True)
class Machine:
    """What the text depends on.

    Attributes
    ----------
    num_warps, num_stages : of the launch.
    barrier : at which all threads of a partition meet.
    captures_inside : whether ``ttg.warp_specialize.partitions`` has the captured values, and not what it stands in.
    has_tma_copy : whether Triton IR takes the copy engine's own operation.
    """

    capability: int
    num_warps: int
    num_stages: int
    barrier: str
    captures_inside: bool
    has_tma_copy: bool


def specialise_executors(text: str, machine: Machine) -> tuple[str, int]:
    """Triton IR in generic form, and how many loops were divided.

    Raises
    ------
    ScheduleError : groups that do not split, or executors that have no such warps.
    """
    lines = text.splitlines()
    splits = split_executors(lines)
    for number, split in reversed(list(enumerate(splits))):
        lines = _Writer(lines, split, number, machine).divided()
    return "\n".join(lines), len(splits)


@dataclass
class _Ring:
    """What one executor hands to others."""

    writer: int
    fields: list[Field]
    readers: list[int]

    @property
    def expected(self) -> int:
        """Bytes that the copy engine brings into a slot."""
        return sum(each.bytes for each in self.fields if each.transport == TMA)


@dataclass
class _Body:
    """What is put around the operations of an executor's loop."""

    before: dict[int, list[str]] = field(default_factory=dict)
    after: dict[int, list[str]] = field(default_factory=dict)
    instead: dict[int, list[str]] = field(default_factory=dict)
    last: list[str] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)  # the loop


class _Writer:
    def __init__(self, lines: list[str], split: Split, number: int, machine: Machine) -> None:
        self.lines, self.split, self.machine = lines, split, machine
        self.prefix = f"%tle_x{number}"
        self.location = location_of(lines[split.loop.end])
        self.schedule = split.grouped.schedule
        self.slots = max(1, self.schedule.slots or machine.num_stages)
        self.uses = [set(_used(each)) for each in split.operations]
        self.count = 0
        self.rings = [self._ring(part) for part in split.parts if part.writes]
        self.products = {part.number: self._background(part) for part in split.parts}

    def divided(self) -> list[str]:
        """The module's lines with partitions in place of the loop."""
        split, loop = self.split, self.split.loop
        workers = [part for part in split.parts if part.number != split.own]
        warps = [self._warps(part) for part in workers]
        self._check_warps(warps)
        own = split.parts[split.own]
        default, results, types = self._loop(own, "d")
        default = [*self._constants(), *default]
        kept = [sorted(own.carried).index(number) for number in split.results]
        given, given_types = [results[place] for place in kept], [types[place] for place in kept]
        bodies = [self._worker(part) for part in workers]
        captured = list(dict.fromkeys(value for _, values in bodies for value in values))
        names, kinds = [name for name, _ in captured], [kind for _, kind in captured]
        outer, inner = ((), names) if self.machine.captures_inside else (names, ())
        listed = f"({', '.join(kinds)}) -> ()"
        warps_text = f"partitionNumWarps = array<i32: {', '.join(map(str, warps))}>"
        made = f"{self.prefix}_r"
        left = "" if not given else f"{made}{f':{len(given)}' if len(given) > 1 else ''} = "
        out = given_types[0] if len(given) == 1 else f"({', '.join(given_types)})"
        text = [
            *self._allocations(),
            f'{left}"ttg.warp_specialize"({", ".join(outer)}) <{{{warps_text}{self._registers(workers, warps)}}}> ({{',
            *default,
            self._line(GenericOperation("ttg.warp_yield", tuple(given), tuple(given_types), attributes=OWN_LAYOUT)),
            "}, {",
            f'"ttg.warp_specialize.partitions"({", ".join(inner)}) ({{',
        ]
        for place, (body, _) in enumerate(bodies):
            arguments = ", ".join(f"{self.prefix}_p{place}_{i}: {kind}" for i, kind in enumerate(kinds))
            text += [*(["}, {"] if place else []), f"^bb0({arguments}):"]
            renamed = {name: f"{self.prefix}_p{place}_{i}" for i, name in enumerate(names)}
            text += _renamed(body, renamed)
            text.append(self._line(GenericOperation("ttg.warp_return")))
        text.append(f"}}) : {listed if self.machine.captures_inside else '() -> ()'}{self.location}")
        ins = "" if self.machine.captures_inside else ", ".join(kinds)
        text.append(f"}}) : ({ins}) -> {out}{self.location}")
        text += self._invalidations()
        end = loop.parent.operations[-1].end + 1  # of the block that knows the results
        behind = self.lines[loop.end + 1 : end]
        for place, number in enumerate(split.results):
            new = made if len(given) == 1 else f"{made}#{place}"
            old = re.compile(re.escape(loop.results[number].name) + r"(?![\w$.\-#:])")
            behind = [old.sub(lambda _, new=new: new, line) for line in behind]  # type: ignore[misc]
        return [*self.lines[: loop.line], *text, *behind, *self.lines[end:]]

    # --- warps ------------------------------------------------------------------------------------------------------

    def _warps(self, part: Part) -> int:
        enough = _COPY_WARP if self._only_begins_copies(part) else _WARPS
        return max(count for count in _COUNTS if count <= (self.schedule.warps[part.number] or enough))

    def _only_begins_copies(self, part: Part) -> bool:
        """Whether nothing that it does is spread over threads."""
        fields = {each.made for ring in self.rings if ring.writer == part.number for each in ring.fields}
        copies = {each.made for ring in self.rings for each in ring.fields if each.transport == TMA}
        if part.reads or not fields <= copies:
            return False
        held = (self.split.operations[place] for place in part.places)
        return not any(
            value.type.startswith("tensor<")
            for each in held
            if each not in copies
            for inner in each.walk()
            for value in (*inner.results, *inner.operands)
        )

    def _registers(self, workers: Sequence[Part], warps: Sequence[int]) -> str:
        copies = all(self._only_begins_copies(part) for part in workers)
        if not copies or self.machine.capability < _HOPPER:
            return ""
        return f", requestedRegisters = array<i32: {', '.join([str(_COPY_REGISTERS)] * len(warps))}>"

    def _check_warps(self, warps: Sequence[int]) -> None:
        own, machine = self.split.own, self.machine
        asked, name = self.schedule.warps[own], self.schedule.names[own]
        row, hint = None, ""
        if asked and asked < machine.num_warps:
            row = Row(f"{name}, which makes what is used behind the loop", f"{machine.num_warps} warps", str(asked))
            hint = "it is run by the launch's num_warps: launch with fewer, or name more"
        elif machine.num_warps + -(-sum(warps) // _GROUP) * _GROUP > _MOST_WARPS:
            row = Row(
                "num_warps and those of executors",
                f"at most {_MOST_WARPS} together",
                f"{machine.num_warps} and {list(warps)}",
            )
            hint = "a block has no more; those of executors are started by fours"
        if row is not None:
            site = Locations(self.lines).source_location(self.location)
            raise ScheduleError("tle.range: executors without such warps", table=[row], hint=hint).at(call_site=site)

    # --- rings ------------------------------------------------------------------------------------------------------

    def _ring(self, part: Part) -> _Ring:
        fields = []
        for value in part.writes:
            is_used = any(value in self.uses[place] for place in part.places)
            is_carried = any(self.split.yielded[number] is value for number in part.carried)
            fields.append(field_of(value, self.lines, self.machine.capability, is_used=is_used or is_carried))
        readers = [each.number for each in self.split.parts if any(value in each.reads for value in part.writes)]
        return _Ring(part.number, sorted(fields, key=lambda each: each.made.line), readers)

    def _names(self, ring: _Ring) -> tuple[str, str]:
        return f"{self.prefix}_full{ring.writer}", f"{self.prefix}_empty{ring.writer}"

    def _memory(self, ring: _Ring, each: Field) -> str:
        return f"{self.prefix}_slots{ring.writer}_{ring.fields.index(each)}"

    def _allocations(self) -> list[str]:
        made: list[str] = []
        for ring in self.rings:
            for each in ring.fields:
                note = f'tle.name = "{each.value.name.lstrip("%").split("#")[0]}"'
                made.append(
                    self._make(self._memory(ring, each), "ttg.local_alloc", [], each.type(self.slots), attributes=note)
                )
            for name, count in zip(self._names(ring), (1, len(ring.readers))):
                made.append(self._make(name, "ttg.local_alloc", [], barrier_type(self.slots)))
                for slot in range(self.slots):
                    one, index = f"{name}_{slot}", f"{name}_i{slot}"
                    made.append(self._constant(index, f"{slot} : i32", "i32"))
                    made.append(
                        self._make(
                            one, "ttg.memdesc_index", [(name, barrier_type(self.slots)), (index, "i32")], barrier_type()
                        )
                    )
                    made.append(self._do("ttng.init_barrier", [(one, barrier_type())], f"count = {count} : i32"))
        return made

    def _invalidations(self) -> list[str]:
        names = (f"{name}_{slot}" for ring in self.rings for name in self._names(ring) for slot in range(self.slots))
        return [self._do("ttng.inval_barrier", [(name, barrier_type())]) for name in names]

    def _barrier(self, made: list[str], name: str, slot: str) -> str:
        one = self._name()
        made.append(
            self._make(one, "ttg.memdesc_index", [(name, barrier_type(self.slots)), (slot, "i32")], barrier_type())
        )
        return one

    def _place(self, made: list[str], ring: _Ring, each: Field) -> str:
        """The buffer of a value in the slot of this iteration."""
        one, memory = self._name(), self._memory(ring, each)
        made.append(
            self._make(one, "ttg.memdesc_index", [(memory, each.type(self.slots)), (self._slot, "i32")], each.type())
        )
        return one

    def _wait(self, made: list[str], name: str, phase: str) -> None:
        one = self._barrier(made, name, self._slot)
        operands = [(one, barrier_type()), (phase, "i32"), (_TRUE, "i1")]
        made.append(self._do("ttng.wait_barrier", operands, "operandSegmentSizes = array<i32: 1, 1, 1, 0>"))

    def _arrive(self, made: list[str], one: str, predicate: str = _TRUE) -> None:
        made.append(self._do("ttng.arrive_barrier", [(one, barrier_type()), (predicate, "i1")], "count = 1 : i32"))

    # --- an executor's loop -----------------------------------------------------------------------------------------

    def _loop(self, part: Part, side: str) -> tuple[list[str], list[str], list[str]]:
        """The lines of an executor's loop, and its results' names and types."""
        split, loop = self.split, self.split.loop
        self._slot, self._phase = f"{self.prefix}_{side}_slot", f"{self.prefix}_{side}_phase"
        self._turn = f"{self.prefix}_{side}_turn"
        self.has_turn = False
        body = _Body()
        product = self.products[part.number]
        for ring in self.rings:
            if ring.writer == part.number:
                self._write(part, ring, body, side)
            if part.number in ring.readers:
                self._read(part, ring, body)
        waited = self._leave_under_way(product, body) if product is not None else -1
        has_slots = any(part.number in (ring.writer, *ring.readers) for ring in self.rings)
        carried = sorted(part.carried)
        arguments = split.body.arguments
        variables = [(arguments[1 + number].name, arguments[1 + number].type) for number in carried]
        initial = [loop.operands[3 + number].name for number in carried]
        handed = [split.yielded[number].name for number in carried]
        step: list[str] = []
        if has_slots:
            variables += [(self._slot, "i32"), (self._phase, "i32")]
            initial += [_ZERO, _ZERO]
            handed += self._next(step)
        if self.has_turn:
            variables.append((self._turn, "i32"))
            initial.append(_ZERO)
            handed.append(
                self._binary(step, "arith.addi", self._turn, _ONE, more="overflowFlags = #arith.overflow<none>")
            )
        types = [kind for _, kind in variables]
        result = f"{self.prefix}_{side}"
        results = [result] if len(types) == 1 else [f"{result}#{i}" for i in range(len(types))]
        left = "" if not types else f"{result}{f':{len(types)}' if len(types) > 1 else ''} = "
        bounds = loop.operands[:3]
        labels = ", ".join(f"{name}: {kind}" for name, kind in [(arguments[0].name, arguments[0].type), *variables])
        lines = [
            f'{left}"{FOR}"({", ".join([*(each.name for each in bounds), *initial])}) {loop.details}',
            f"^bb0({labels}):",
            *self._operations(part, body),
            *step,
            self._line(GenericOperation("scf.yield", tuple(handed), tuple(types))),
            f"}}) : ({', '.join([*(arguments[0].type,) * 3, *types])}) -> "
            f"{types[0] if len(types) == 1 else '(' + ', '.join(types) + ')'}{self.location}",
        ]
        names = {self._slot: results[len(carried)], self._turn: results[-1]} if has_slots else {}
        lines += _renamed(body.behind, names)
        if waited in carried:
            place, done = carried.index(waited), self._name()
            lines.append(self._wait_for_products(done, results[place], types[place], 0))
            results[place] = done
        return lines, results, types

    # --- products in the background -----------------------------------------------------------------------------------

    def _background(self, part: Part) -> int | None:
        """The place of a product that only adds to a variable of the loop, of tiles that come from slots alone."""
        if self.machine.capability != _HOPPER or self.slots < 2:
            return None
        fields = {each.value: each for ring in self.rings for each in ring.fields if each.value in part.reads}
        for place in sorted(part.places):
            operation = self.split.operations[place]
            if operation.name != "tt.dot" or not self._adds_up(part, operation):
                continue
            tiles = [self._tile(part, value, fields) for value in operation.operands[:2]]
            if all(tile is not None and tile.element in _HALVES and tile.swizzle > 0 for tile in tiles):
                return place if self._fits(operation) else None
        return None

    def _adds_up(self, part: Part, product: Operation) -> bool:
        """Whether a product's sum is a variable of the loop, and nothing else sees it."""
        made, variable = product.results[0], product.operands[2]
        arguments = self.split.body.arguments
        if variable not in arguments[1:] or not made.type.endswith("xf32>"):
            return False
        number = arguments.index(variable) - 1
        users = [place for place in part.places if variable in self.uses[place] or made in self.uses[place]]
        handed = [each for each, value in enumerate(self.split.yielded) if value in (made, variable)]
        return len(users) == 1 and handed == [number] and self.split.yielded[number] is made

    def _tile(self, part: Part, value: Value, fields: Mapping[Value, Field]) -> Field | None:
        """The field that an operand comes from, as it is or transposed, where nothing else reads it."""
        users = [place for place in part.places if value in self.uses[place]]
        if len(users) != 1:
            return None
        if value in fields:
            return fields[value]
        made = value.definition
        if made is None or made not in self.split.operations or not self._is_turned(self.split.operations.index(made)):
            return None
        return self._tile(part, made.operands[0], fields)

    def _fits(self, product: Operation) -> bool:
        rows, columns = (int(dim) for dim in product.results[0].type.removeprefix("tensor<").split("x")[:2])
        depth = int(product.operands[0].type.split("x")[1])
        return rows % 64 == 0 and columns % 8 == 0 and depth >= 16

    def _leave_under_way(self, product: int, body: _Body) -> int:
        """One product is waited for when the next has begun; the number of the variable that it adds to."""
        operation = self.split.operations[product]
        made, begun = operation.results[0], self._name()
        line = read_generic(self.lines[operation.line])
        noted = ", ".join(filter(None, (line.attributes, 'tle.note = "wgmma"')))
        body.instead[product] = [
            str(replace(line, results=begun, attributes=noted)),
            self._wait_for_products(made.name, begun, made.type, 1),
        ]
        return self.split.yielded.index(made)

    def _is_multiplied(self, part: Part, ring: _Ring) -> bool:
        """Whether a product in the background reads tiles of a ring."""
        product = self.products[part.number]
        values = [each.value for each in ring.fields if each.value in part.reads]
        return product is not None and any(self._last_use(part, value) == product for value in values)

    def _wait_for_products(self, name: str, value: str, kind: str, left: int) -> str:
        return self._make(name, "ttng.warp_group_dot_wait", [(value, kind)], kind, f"pendings = {left} : i32")

    def _give_back_later(self, empty: str, made: list[str]) -> None:
        """The slot of the iteration before, whose product is done. The last one nobody waits for."""
        self.has_turn = True
        before, inside = self._name(), list[str]()
        made.append(self._make(before, "arith.cmpi", [(self._turn, "i32"), (_ZERO, "i32")], "i1", "predicate = 4 : i64"))
        self._arrive(inside, self._barrier(inside, empty, self._behind(inside, self.slots - 1)))
        made.append(f'"scf.if"({before}) ({{')
        made += [*inside, self._line(GenericOperation("scf.yield")), "}, {", f"}}) : (i1) -> (){self.location}"]

    def _operations(self, part: Part, body: _Body) -> list[str]:
        made: list[str] = []
        for place in sorted(part.places):
            operation = self.split.operations[place]
            made += body.before.get(place, [])
            made += body.instead.get(place, self.lines[operation.line : operation.end + 1])
            made += body.after.get(place, [])
        return [*made, *body.last]

    def _next(self, made: list[str]) -> list[str]:
        """The slot and the phase of the next iteration."""
        following = self._binary(made, "arith.addi", self._slot, _ONE, more="overflowFlags = #arith.overflow<none>")
        is_over = self._name()
        operands = [(following, "i32"), (_SLOTS, "i32")]
        made.append(self._make(is_over, "arith.cmpi", operands, "i1", "predicate = 0 : i64"))
        slot, turned = self._name(), self._binary(made, "arith.xori", self._phase, _ONE)
        made.append(self._make(slot, "arith.select", [(is_over, "i1"), (_ZERO, "i32"), (following, "i32")], "i32"))
        phase = self._name()
        made.append(self._make(phase, "arith.select", [(is_over, "i1"), (turned, "i32"), (self._phase, "i32")], "i32"))
        return [slot, phase]

    def _read(self, part: Part, ring: _Ring, body: _Body) -> None:
        full, empty = self._names(ring)
        first: dict[Field, int] = {}
        last = -1
        end = len(self.split.operations)
        for each in ring.fields:
            if each.value not in part.reads:
                continue
            users = [place for place in sorted(part.places) if each.value in self.uses[place]]
            is_handed_on = any(self.split.yielded[number] is each.value for number in part.carried)
            first[each] = min([*users, end])
            last = max(last, end if is_handed_on else self._last_use(part, each.value))
        for number, (each, place) in enumerate(sorted(first.items(), key=lambda found: found[1])):
            made: list[str] = []
            if not number:
                self._wait(made, full, self._phase)
            self._take(part, ring, each, made, body)
            if place < end:
                body.before.setdefault(place, []).extend(made)
            else:
                body.last += made
        closed = body.after.setdefault(last, []) if last < end else body.last
        if self._is_multiplied(part, ring):
            self._give_back_later(empty, closed)
            return
        self._arrive(closed, self._barrier(closed, empty, self._slot))

    def _take(self, part: Part, ring: _Ring, each: Field, made: list[str], body: _Body) -> None:
        """Load a value from its slot. One that is only transposed is loaded through a view."""
        buffer = self._place(made, ring, each)
        users = [place for place in sorted(part.places) if each.value in self.uses[place]]
        turned = [place for place in users if each.swizzle > 0 and self._is_turned(place)]
        if users and len(turned) == len(users) and not any(self.split.yielded[n] is each.value for n in part.carried):
            for place in turned:
                view, loaded = self._name(), self.split.operations[place].results[0]
                kind = each.type(transposed=True)
                body.instead[place] = [
                    self._make(view, "ttg.memdesc_trans", [(buffer, each.type())], kind, _TURNED),
                    self._make(loaded.name, "ttg.local_load", [(view, kind)], loaded.type),
                ]
            return
        if not each.is_scalar:
            made.append(self._make(each.value.name, "ttg.local_load", [(buffer, each.type())], each.tensor))
            return
        one = self._name()
        made.append(self._make(one, "ttg.local_load", [(buffer, each.type())], each.tensor))
        made.append(self._make(each.value.name, "tt.unsplat", [(one, each.tensor)], each.value.type))

    def _is_turned(self, place: int) -> bool:
        operation = self.split.operations[place]
        return operation.name == "tt.trans" and _TURNED in operation.details

    def _last_use(self, part: Part, value: Value) -> int:
        """Where a buffer may still be read in place of the value: by what sees it turned or reshaped, too."""
        last, stack = -1, [value]
        while stack:
            each = stack.pop()
            for place in part.places:
                if each in self.uses[place]:
                    last = max(last, place)
                    if self.split.operations[place].name in _VIEWS:
                        stack += self.split.operations[place].results
        return last

    def _write(self, part: Part, ring: _Ring, body: _Body, side: str) -> None:
        full, empty = self._names(ring)
        places = {each: self.split.operations.index(each.made) for each in ring.fields}
        is_first = True
        for each in ring.fields:
            made: list[str] = []
            if is_first:
                self._wait(made, empty, self._binary(made, "arith.xori", self._phase, _ONE))
                is_first = False
            buffer, place = self._place(made, ring, each), places[each]
            if each.transport == STORE:
                self._store(each, buffer, made)
                body.after.setdefault(place, []).extend(made)
                continue
            if each.transport == COPY:
                copy = copy_line(each, self.lines, buffer)
                made.append(f"{self._name()} = {copy}")
            else:
                self._begin_copy(each, buffer, self._barrier(made, full, self._slot), made)
            body.instead[place] = made
        closed = body.after.setdefault(max(places.values()), [])
        self._hand_over(ring, closed, body, side)

    def _store(self, each: Field, buffer: str, made: list[str]) -> None:
        name = each.value.name
        if each.is_scalar:
            name = self._name()
            made.append(self._make(name, "tt.splat", [(each.value.name, each.value.type)], each.tensor))
        made.append(self._do("ttg.local_store", [(name, each.tensor), (buffer, each.type())]))

    def _begin_copy(self, each: Field, buffer: str, barrier: str, made: list[str]) -> None:
        load = each.made
        places = [(value.name, "i32") for value in load.operands[1:]]
        descriptor = (load.operands[0].name, load.operands[0].type)
        if self.machine.has_tma_copy:
            operands = [descriptor, *places, (barrier, barrier_type()), (buffer, each.type()), (_TRUE, "i1")]
            properties = "cache = 1 : i32, evict = 1 : i32, isVolatile = false"
            made.append(self._do("ttng.async_tma_copy_global_to_local", operands, properties))
            return
        value, program, never = each.value.name, self._name(), self._name()
        made.append(
            self._make(value, "tt.descriptor_load", [descriptor, *places], each.tensor, attributes='tle.note = "tma"')
        )
        made.append(self._do("ttg.local_store", [(value, each.tensor), (buffer, each.type())]))
        made.append(self._make(program, "tt.get_program_id", [], "i32", "axis = 0 : i32"))
        made.append(self._make(never, "arith.cmpi", [(program, "i32"), (_ZERO, "i32")], "i1", "predicate = 2 : i64"))
        self._arrive(made, barrier, never)

    def _hand_over(self, ring: _Ring, made: list[str], body: _Body, side: str) -> None:
        """Say that a slot is full, or will be when its copies are done."""
        full, _ = self._names(ring)
        transports = {each.transport for each in ring.fields}
        if COPY in transports:
            in_matrices = any(each.swizzle >= 0 for each in ring.fields if each.transport == COPY)
            if self.machine.capability >= _HOPPER and in_matrices:
                self._commit(made)
                if TMA not in transports:
                    self._hand_over_later(ring, full, made, body.behind)
                    return
                self._wait_for_copies(made, 0)
            else:
                made.append(
                    self._do(
                        "ttng.async_copy_mbarrier_arrive", [(self._barrier(made, full, self._slot), barrier_type())]
                    )
                )
        one = self._barrier(made, full, self._slot)
        if not ring.expected:
            self._arrive(made, one)
            return
        if transports != {TMA}:
            made.append(self._do("ttng.fence_async_shared", [], "bCluster = false"))
            made.append(f"{self.machine.barrier}{self.location}")
        operands = [(one, barrier_type()), (_TRUE, "i1")]
        made.append(self._do("ttng.barrier_expect", operands, f"size = {ring.expected} : i32"))

    def _hand_over_later(self, ring: _Ring, full: str, made: list[str], behind: list[str]) -> None:
        """``cp.async`` that tensor cores read is waited for by whoever began it, when the next ones are under way."""
        late = any(self._is_multiplied(self.split.parts[reader], ring) for reader in ring.readers)
        ahead = max(0, self.slots - 2 - late)  # one slot is the readers', or two, one is for the next copies
        self._wait_for_copies(made, ahead)
        if not ahead:
            self._arrive(made, self._barrier(made, full, self._slot))
            return
        self.has_turn = True
        least, is_there = self._name(), self._name()
        made.append(self._constant(least, f"{ahead} : i32", "i32"))
        made.append(self._make(is_there, "arith.cmpi", [(self._turn, "i32"), (least, "i32")], "i1", "predicate = 5 : i64"))
        self._arrive(made, self._barrier(made, full, self._behind(made, self.slots - ahead)), is_there)
        self._wait_for_copies(behind, 0)
        for number in range(ahead):
            missing, is_one = self._name(), self._name()
            behind.append(self._constant(missing, f"{ahead - number} : i32", "i32"))
            operands = [(self._turn, "i32"), (missing, "i32")]
            behind.append(self._make(is_one, "arith.cmpi", operands, "i1", "predicate = 5 : i64"))
            slot = self._behind(behind, self.slots - ahead + number)
            self._arrive(behind, self._barrier(behind, full, slot), is_one)

    def _behind(self, made: list[str], count: int) -> str:
        """The slot so many behind that of this iteration."""
        number, slot = self._name(), self._name()
        made.append(self._constant(number, f"{count} : i32", "i32"))
        later = self._binary(made, "arith.addi", self._slot, number, more="overflowFlags = #arith.overflow<none>")
        made.append(self._make(slot, "arith.remui", [(later, "i32"), (_SLOTS, "i32")], "i32"))
        return slot

    def _commit(self, made: list[str]) -> None:
        made.append(self._make(self._name(), "ttg.async_commit_group", [], "!ttg.async.token"))

    def _wait_for_copies(self, made: list[str], left: int) -> None:
        made.append(self._make(self._name(), "ttg.async_wait", [], "!ttg.async.token", f"num = {left} : i32"))

    # --- a worker ---------------------------------------------------------------------------------------------------

    def _worker(self, part: Part) -> tuple[list[str], list[tuple[str, str]]]:
        """A worker's lines, and the names and types of what it gets from outside."""
        copied: dict[Operation, None] = {}
        captured: dict[Value, None] = {}
        stack = list(part.outside)
        while stack:
            value = stack.pop()
            made = value.definition
            if made is not None and (value.type.startswith("tensor<") or made.name == "arith.constant"):
                if made not in copied:
                    copied[made] = None
                    stack += made.operands
            else:
                captured[value] = None
        own = [
            line for each in sorted(copied, key=lambda each: each.line) for line in self.lines[each.line : each.end + 1]
        ]
        names = {value.name.split("#")[0] for each in copied for value in each.results}
        loop, _, _ = self._loop(part, f"w{part.number}")
        fresh = {name: f"{self.prefix}_w{part.number}_{name[1:]}" for name in names}
        lines = [*self._constants(), *_renamed([*own, *loop], fresh)]
        given = [(value.name, value.type) for value in captured]
        for ring in self.rings:
            if part.number in (ring.writer, *ring.readers):
                given += [(name, barrier_type(self.slots)) for name in self._names(ring)]
                given += [(self._memory(ring, each), each.type(self.slots)) for each in ring.fields]
        return lines, given

    def _constants(self) -> list[str]:
        numbers = (
            (_TRUE, "true", "i1"),
            (_ZERO, "0 : i32", "i32"),
            (_ONE, "1 : i32", "i32"),
            (_SLOTS, f"{self.slots} : i32", "i32"),
        )
        return [self._constant(*each) for each in numbers]

    # --- one operation ----------------------------------------------------------------------------------------------

    def _name(self) -> str:
        self.count += 1
        return f"{self.prefix}_v{self.count}"

    def _line(self, operation: GenericOperation) -> str:
        return f"{operation}{self.location}"

    def _make(
        self,
        name: str,
        operation: str,
        operands: Sequence[tuple[str, str]],
        kind: str,
        properties: str = "",
        attributes: str = "",
    ) -> str:
        names, types = tuple(name for name, _ in operands), tuple(kind for _, kind in operands)
        return self._line(GenericOperation(operation, names, types, (kind,), name, properties, attributes))

    def _do(self, operation: str, operands: Sequence[tuple[str, str]], properties: str = "") -> str:
        names, types = tuple(name for name, _ in operands), tuple(kind for _, kind in operands)
        return self._line(GenericOperation(operation, names, types, properties=properties))

    def _constant(self, name: str, value: str, kind: str) -> str:
        return self._make(name, "arith.constant", [], kind, f"value = {value}")

    def _binary(self, made: list[str], operation: str, one: str, other: str, more: str = "") -> str:
        name = self._name()
        made.append(self._make(name, operation, [(one, "i32"), (other, "i32")], "i32", more))
        return name


def _used(operation: Operation) -> set[Value]:
    return {value for each in operation.walk() for value in each.operands}


def _renamed(lines: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Lines in which values have other names; of several results of one operation all have."""

    def rename(found: re.Match[str]) -> str:
        text = found[0]
        if text in names:
            return names[text]
        base, mark, number = text.partition("#")
        return f"{names[base]}{mark}{number}" if base in names else text

    return [_NAMES.sub(rename, line) for line in lines]
