"""Which operations of a loop each of its executors runs, and what one hands to another.

An executor does what has effects in its groups, and what that needs. What stands outside of groups, and computations of
addresses and other integers, each does for itself; any other value that a group of another executor makes is handed
over, once in each iteration. The executor that makes what is used behind the loop is the kernel's own warps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tle_raw.errors import Row, ScheduleError, SourceLocation, TLEError
from tle_raw.flir.executor_memory import check_memory, initial_values
from tle_raw.flir.grouped_loops import GroupedLoop, grouped_loops
from tle_raw.flir.loop_body import BodyOperation
from tle_raw.flir.run_ahead import LOADS, has_effects
from tle_raw.linker.mlir.generic_tree import Block, Operation, Value, read_tree
from tle_raw.linker.mlir.locations import Locations
from tle_raw.linker.mlir.text import location_of

_VIEWS = "ttg.memdesc_"
_DEAR = ("tt.dot", "tt.dot_scaled", "tt.gather", "tt.histogram", "tt.extern_elementwise", "tt.elementwise_inline_asm")
# Of values that each executor computes for itself: integers, pointers, buffers.
_INTEGERS = re.compile(r"^(tensor<(\d+x)*)?(i\d+|index|!tt\.ptr<[^<>]*>)>?$|^!ttg\.memdesc<")
_HANDED = re.compile(r"^(tensor<(?P<dims>(\d+x)+)(?P<element>(i|f|bf)\w+)>|(?P<scalar>(i|f|bf)\d\w*))$")
_TRUTH = "i1"
_SHOWN = 60


@dataclass
class Part:
    """What one executor does.

    Attributes
    ----------
    places : of the operations in the loop's body.
    carried : the numbers of the loop's variables that it has.
    outside : what it uses that is computed before the loop.
    reads : the values that others hand to it.
    writes : the values that it hands to others.
    """

    number: int
    places: set[int] = field(default_factory=set)
    carried: set[int] = field(default_factory=set)
    outside: dict[Value, None] = field(default_factory=dict)
    reads: dict[Value, None] = field(default_factory=dict)
    writes: dict[Value, None] = field(default_factory=dict)


@dataclass
class Split:
    """A loop and its executors' parts; ``own`` is the number of the one that the kernel's own warps are.

    Attributes
    ----------
    operations : of the body, without the one that ends it.
    owners : of each the executor whose group it stands in, None outside of groups.
    results : the numbers of the loop's results that are used behind it.
    """

    grouped: GroupedLoop
    loop: Operation
    operations: list[Operation]
    owners: list[int | None]
    parts: list[Part]
    results: list[int]
    own: int = 0

    @property
    def body(self) -> Block:
        """The loop's."""
        return self.loop.regions[0][0]

    @property
    def yielded(self) -> Sequence[Value]:
        """What an iteration hands to the next one."""
        return self.body.operations[-1].operands


def split_executors(lines: Sequence[str]) -> list[Split]:
    """The loops of a module in generic form whose groups have several executors, outer ones first.

    Raises
    ------
    ScheduleError : the groups do not split; the error names what crosses, and where.
    """
    grouped = [loop for loop in grouped_loops(lines) if loop.schedule.executors]
    if not grouped:
        return []
    tree = read_tree(lines)
    operations, initial = {each.line: each for top in tree for each in top.walk()}, initial_values(tree)
    for inner in grouped:
        if any(outer.body.begin < inner.body.begin < outer.body.end for outer in grouped):
            raise ScheduleError(
                "a loop with several executors stands within a group of another: executors are not divided again",
                hint="leave executors out of one of the two",
            ).at(call_site=_location(lines[inner.body.end], Locations(list(lines))))
    return [_Splitter(each, operations, initial, lines).split() for each in grouped]


class _Splitter:
    def __init__(
        self,
        grouped: GroupedLoop,
        operations: dict[int, Operation],
        initial: dict[Value, Value],
        lines: Sequence[str],
    ) -> None:
        self.lines, self.schedule, self.initial = lines, grouped.schedule, initial
        self.locations = Locations(list(lines))
        loop = operations[grouped.body.begin]
        body = [operations[each.begin] for each in grouped.body.operations if each.begin not in grouped.markers]
        executors = {
            operations[each.begin]: grouped.schedule.executors[grouped.groups[number]]
            for number, each in enumerate(grouped.body.operations)
            if number in grouped.groups
        }
        owners = [executors.get(each) for each in body]
        parts = [Part(number) for number in range(len(grouped.schedule.names))]
        used = _used_behind(loop)
        self.made = Split(grouped, loop, body, owners, parts, used)
        self.places = {value: place for place, each in enumerate(body) for value in each.results}
        self.variables = {value: number for number, value in enumerate(self.made.body.arguments[1:])}
        self.uses = [list(used_values(each)) for each in body]
        self.effects = [_has_effects(each, lines) for each in body]
        self.seen: set[tuple[int, Value]] = set()

    def split(self) -> Split:
        split = self.made
        self._check_effects()
        split.own = self._own()
        for place, owner in enumerate(split.owners):
            if owner is not None and self.effects[place]:
                self._include(owner, place)
        for number in split.results:
            self._want(split.own, split.body.arguments[1 + number])
        for part in split.parts:
            for value in split.loop.operands[:3]:
                part.outside.setdefault(value)
        self._check_busy()
        self._check_ways()
        for part in split.parts:
            for value in part.writes:
                self._check_handed(value)
            if part.number != split.own:
                self._check_worker(part)
        found = check_memory(split.operations, split.owners, self.initial)
        if found is not None:
            raise self._memory(found)
        return split

    # --- who does what ----------------------------------------------------------------------------------------------

    def _own(self) -> int:
        """The executor that makes the results: of those that it adds to from iteration to iteration, if any."""
        split = self.made
        makers: dict[int, int] = {}  # and a result that each makes
        for number in split.results:
            place = self.places.get(split.yielded[number])
            if place is not None and split.owners[place] is not None and not self._is_cheap(place):
                owner = split.owners[place]
                assert owner is not None
                if self._depends(split.yielded[number], split.body.arguments[1 + number]):
                    makers.setdefault(owner, place)
        if len(makers) > 1:
            (one, first), (other, second) = list(makers.items())[:2]
            raise ScheduleError(
                f"{self._executor(one)} and {self._executor(other)} both add to variables that are used behind the "
                "loop: one executor makes the loop's results",
                table=[Row("the other result", f"made by {self._executor(one)}", self._shown(first))],
                hint="give both to one executor, or let the other one store its result in the loop",
            ).at(call_site=self._where(second))
        return next(iter(makers), self.schedule.executors[-1])

    def _depends(self, value: Value, variable: Value) -> bool:
        """Whether a value is computed from a variable of the loop, within an iteration."""
        seen: set[Value] = set()
        stack = [value]
        while stack:
            each = stack.pop()
            if each is variable:
                return True
            if each not in seen and each in self.places:
                seen.add(each)
                stack += self.uses[self.places[each]]
        return False

    def _include(self, executor: int, place: int) -> None:
        part = self.made.parts[executor]
        if place not in part.places:
            part.places.add(place)
            for value in self.uses[place]:
                self._want(executor, value)

    def _want(self, executor: int, wanted: Value) -> None:
        """An executor needs a value, and what that needs."""
        split, stack = self.made, [(executor, wanted)]
        while stack:
            number, value = stack.pop()
            if (number, value) in self.seen:
                continue
            self.seen.add((number, value))
            part = split.parts[number]
            place = self.places.get(value)
            if place is not None:
                owner = split.owners[place]
                if owner is not None and owner != number and not self._is_cheap(place):
                    part.reads.setdefault(value)
                    split.parts[owner].writes.setdefault(value)
                    stack.append((owner, value))
                elif place not in part.places:
                    part.places.add(place)
                    stack += [(number, each) for each in self.uses[place]]
            elif value in self.variables:
                variable = self.variables[value]
                part.carried.add(variable)
                stack += [(number, split.yielded[variable]), (number, split.loop.operands[3 + variable])]
            elif value is not split.body.arguments[0]:
                part.outside.setdefault(value)

    def _is_cheap(self, place: int) -> bool:
        operation = self.made.operations[place]
        if self.effects[place] or operation.regions or operation.name in (*LOADS, *_DEAR):
            return False
        return all(_INTEGERS.match(each.type) for each in operation.results)

    # --- what is checked --------------------------------------------------------------------------------------------

    def _check_effects(self) -> None:
        for place, owner in enumerate(self.made.owners):
            if owner is None and self.effects[place]:
                raise ScheduleError(
                    f"{self.made.operations[place].name} stands outside of the groups of its loop: nothing says which "
                    "executor runs it",
                    hint="put it into a `with tle.pipeline_group(i):` of the loop",
                ).at(call_site=self._where(place))

    def _check_busy(self) -> None:
        for part in self.made.parts:
            if not any(self.made.owners[place] == part.number for place in part.places):
                raise ScheduleError(
                    f"{self._executor(part.number)} has nothing to do: nobody needs what its groups compute",
                    table=[Row("groups", "a store, or a value that others use", "neither")],
                    hint="integers and addresses are computed by each executor that needs them",
                ).at(call_site=self._loop())

    def _check_ways(self) -> None:
        """Values go one way: an executor that waits for another is waited for by none behind it."""
        givers = {part.number: self._givers(part) for part in self.made.parts}
        for part in self.made.parts:
            for value in part.reads:
                maker = self._maker(value)
                back = self._way_back(givers, part.number, maker)
                if back is not None:
                    raise ScheduleError(
                        f"{self._executor(part.number)} needs a value of {self._executor(maker)}, which needs one of "
                        f"{self._executor(back[0])}: values go one way",
                        table=[Row("the way back", "no value", self._shown(self.places[back[1]]))],
                        hint="give both groups to one executor",
                    ).at(call_site=self._where(self.places[value]))

    def _givers(self, part: Part) -> dict[int, Value]:
        return {self._maker(value): value for value in part.reads}

    def _way_back(self, givers: dict[int, dict[int, Value]], target: int, start: int) -> tuple[int, Value] | None:
        """Who hands which value on, on a way from ``target`` to ``start``, last of all."""
        seen: set[int] = set()
        stack = [start]
        while stack:
            each = stack.pop()
            if target in givers[each]:
                return target, givers[each][target]
            if each not in seen:
                seen.add(each)
                stack += givers[each]
        return None

    def _check_handed(self, value: Value) -> None:
        found = _HANDED.match(value.type)
        if found is not None and _TRUTH not in (found["element"], found["scalar"]):
            return
        place = self.places[value]
        reader = next(part.number for part in self.made.parts if value in part.reads)
        raise ScheduleError(
            f"a value goes from {self._executor(self._maker(value))} to {self._executor(reader)} that cannot be stored "
            "in shared memory",
            table=[Row("handed over", "numbers, or block tensors of them", value.type)],
            hint="compute it in the group that uses it; a comparison where what is compared is handed over",
        ).at(call_site=self._where(place))

    def _check_worker(self, part: Part) -> None:
        for value in part.outside:
            self._copied(part, value)

    def _copied(self, part: Part, value: Value) -> None:
        """Check that a worker can have a value of the kernel's: block tensors are computed again."""
        stack, seen = [value], set[Value]()
        while stack:
            each = stack.pop()
            if each in seen or not each.type.startswith("tensor<"):
                continue
            seen.add(each)
            made = each.definition
            if made is None or made.regions or _has_effects(made, self.lines) or made.name in LOADS:
                user = next((place for place in sorted(part.places) if value in self.uses[place]), None)
                raise ScheduleError(
                    f"{self._executor(part.number)} uses a block tensor that the kernel's own warps hold",
                    table=[Row("made before the loop", "of scalars, by arithmetic", self._made_at(each))],
                    hint="load it in a group of that executor, or put it into a buffer of tle.gpu.alloc in front of "
                    "the loop",
                ).at(call_site=self._loop() if user is None else self._where(user))
            stack += made.operands

    def _memory(self, found: tuple[int, int, str]) -> TLEError:
        one, other, what = found
        owners = [self.made.owners[each] for each in (one, other)]
        first, second = (self._executor(each) for each in owners if each is not None)
        error = ScheduleError(
            f"{first} and {second} both touch {what}, and one of them writes: nothing orders the two",
            table=[Row("the other access", f"in a group of {second}", self._shown(one))],
            hint="give both to one executor"
            + (", or let barriers with phases guard the buffer" if "buffer" in what else ""),
        )
        return error.at(call_site=self._where(other))

    # --- words ------------------------------------------------------------------------------------------------------

    def _maker(self, value: Value) -> int:
        owner = self.made.owners[self.places[value]]
        assert owner is not None
        return owner

    def _executor(self, number: int) -> str:
        groups = [group for group, its in enumerate(self.schedule.executors) if its == number]
        listed = ", ".join(map(str, groups))
        return f"executor {self.schedule.names[number]} (group{'s' if len(groups) > 1 else ''} {listed})"

    def _where(self, place: int) -> SourceLocation:
        return _location(self.lines[self.made.operations[place].end], self.locations)

    def _loop(self) -> SourceLocation:
        return _location(self.lines[self.made.loop.end], self.locations)

    def _shown(self, place: int) -> str:
        at = self._where(place)
        return f"{at}: {at.text.strip()[:_SHOWN]}"

    def _made_at(self, value: Value) -> str:
        if value.definition is None:
            return f"{value.type}, of an outer loop or a function's argument"
        at = _location(self.lines[value.definition.end], self.locations)
        return f"{value.definition.name} at {at}: {at.text.strip()[:_SHOWN]}"


def used_values(operation: Operation) -> Iterator[Value]:
    """What an operation and those inside of it use, of what is made outside of it."""
    inside: set[Value] = set()
    for each in operation.walk():
        inside.update(each.results)
        inside.update(value for region in each.regions for block in region for value in block.arguments)
    found = {value: None for each in operation.walk() for value in each.operands if value not in inside}
    yield from found


def _used_behind(loop: Operation) -> list[int]:
    parent = loop.parent
    used = {
        value
        for each in parent.operations[parent.operations.index(loop) + 1 :]
        for inner in each.walk()
        for value in inner.operands
    }
    return [number for number, value in enumerate(loop.results) if value in used]


def _has_effects(operation: Operation, lines: Sequence[str]) -> bool:
    if operation.name.startswith(_VIEWS):
        return False
    return has_effects(BodyOperation(operation.name, operation.line, operation.end, "", frozenset()), lines)


def _location(line: str, locations: Locations) -> SourceLocation:
    return locations.source_location(location_of(line))
