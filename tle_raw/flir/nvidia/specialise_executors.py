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
from collections.abc import Sequence
from dataclasses import dataclass

from tle_raw.errors import Row, ScheduleError
from tle_raw.flir.nvidia.convert_results import OWN_LAYOUT
from tle_raw.flir.nvidia.executor_loop import Loops, write_loop
from tle_raw.flir.nvidia.executor_products import HOPPER, Products
from tle_raw.flir.nvidia.executor_rings import RingText, find_rings
from tle_raw.flir.nvidia.executor_slots import TMA
from tle_raw.flir.nvidia.executor_text import ExecutorText, Named, listed, renamed, results
from tle_raw.flir.split_executors import Part, Split, split_executors, used_values
from tle_raw.linker.mlir.generic_operation import GenericOperation
from tle_raw.linker.mlir.generic_tree import Operation, Value
from tle_raw.linker.mlir.locations import Locations
from tle_raw.linker.mlir.text import location_of

_COPY_WARP, _WARPS = 1, 4  # of a worker that only begins copies of the copy engine, and of others
_COUNTS = (1, 2, 4, 8, 16)  # of warps, that Triton's partitions have
_COPY_REGISTERS = 40
_GROUP, _MOST_WARPS = 4, 32


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
    splits, given = split_executors(lines), len(lines)
    for number, split in reversed(list(enumerate(splits))):
        lines = _Divider(lines, split, number, machine, given - len(lines)).divided()
    return "\n".join(lines), len(splits)


class _Divider:
    def __init__(self, lines: list[str], split: Split, number: int, machine: Machine, fewer: int) -> None:
        """``fewer`` is how many lines fewer there are than when the loop was read: behind it, where others stood."""
        self.lines, self.split, self.machine, self.fewer = lines, split, machine, fewer
        self.text = ExecutorText(f"%tle_x{number}", location_of(lines[split.loop.end]))
        self.schedule = split.grouped.schedule
        self.slots = max(1, self.schedule.slots or machine.num_stages)
        uses = [set(used_values(each)) for each in split.operations]
        rings = find_rings(split, uses, lines, machine.capability)
        products = Products(split, uses, rings)
        has_background = machine.capability == HOPPER and self.slots > 1
        under_way = {each.number: products.under_way(each) if has_background else None for each in split.parts}
        ring_text = RingText(self.text, self.slots, has_tma_copy=machine.has_tma_copy)
        self.loops = Loops(
            lines, split, uses, rings, products, under_way, self.text, ring_text, machine.capability, machine.barrier
        )  # fmt: skip

    def divided(self) -> list[str]:
        """The module's lines with partitions in place of the loop."""
        loops, split, loop = self.loops, self.split, self.split.loop
        workers = [part for part in split.parts if part.number != split.own]
        warps = [self._warps(part) for part in workers]
        self._check_warps(warps)
        own = split.parts[split.own]
        default = write_loop(loops, own)
        kept = [sorted(own.carried).index(number) for number in split.results]
        given, types = [default.names[place] for place in kept], [default.types[place] for place in kept]
        yields = GenericOperation("ttg.warp_yield", tuple(given), tuple(types), attributes=OWN_LAYOUT)
        left, names = results(f"{self.text.prefix}_r", len(kept))
        bodies = [self._worker(part) for part in workers]
        captured = list(dict.fromkeys(value for _, values in bodies for value in values))
        head, tail = self._around(workers, warps, captured, types)
        made = [
            *(line for ring in loops.rings for line in loops.ring_text.allocate(ring)),
            left + head,
            *self.text.constants(self.slots),
            *default.lines,
            self.text.line(yields),
            "}, {",
            *self._partitions([lines for lines, _ in bodies], captured),
            tail,
            *(line for ring in loops.rings for line in loops.ring_text.invalidate(ring)),
        ]
        end = loop.parent.operations[-1].end + 1 - self.fewer  # of the block that knows the results
        behind = self.lines[loop.end + 1 : end]
        for number, name in zip(split.results, names):
            behind = _with_name(behind, loop.results[number].name, name)
        return [*self.lines[: loop.line], *made, *behind, *self.lines[end:]]

    # --- the operation ----------------------------------------------------------------------------------------------

    def _around(
        self, workers: Sequence[Part], warps: Sequence[int], captured: Sequence[Named], types: Sequence[str]
    ) -> tuple[str, str]:
        """The first and the last line of ``ttg.warp_specialize``."""
        outer = [] if self.machine.captures_inside else captured
        properties = f"partitionNumWarps = array<i32: {', '.join(map(str, warps))}>{self._registers(workers)}"
        head = f'"ttg.warp_specialize"({", ".join(name for name, _ in outer)}) <{{{properties}}}> ({{'
        return head, f"}}) : ({', '.join(kind for _, kind in outer)}) -> {listed(types)}{self.text.location}"

    def _partitions(self, bodies: Sequence[list[str]], captured: Sequence[Named]) -> list[str]:
        """The workers' regions, each with names of its own for what it gets from outside."""
        inner = captured if self.machine.captures_inside else []
        made = [f'"ttg.warp_specialize.partitions"({", ".join(name for name, _ in inner)}) ({{']
        for number, body in enumerate(bodies):
            names = {name: f"{self.text.prefix}_p{number}_{place}" for place, (name, _) in enumerate(captured)}
            arguments = ", ".join(f"{names[name]}: {kind}" for name, kind in captured)
            made += [*(["}, {"] if number else []), f"^bb0({arguments}):", *renamed(body, names)]
            made.append(self.text.line(GenericOperation("ttg.warp_return")))
        return [*made, f"}}) : ({', '.join(kind for _, kind in inner)}) -> (){self.text.location}"]

    def _worker(self, part: Part) -> tuple[list[str], list[Named]]:
        """A worker's lines, and what it gets from outside. Block tensors of before the loop it computes again."""
        copied: dict[Operation, None] = {}
        captured: dict[Value, None] = {}
        stack = list(part.outside)
        while stack:
            value = stack.pop()
            made = value.definition
            if made is None or not (value.type.startswith("tensor<") or made.name == "arith.constant"):
                captured[value] = None
            elif made not in copied:
                copied[made] = None
                stack += made.operands
        own = [self.lines[each.line] for each in sorted(copied, key=lambda each: each.line)]
        names = {value.name.split("#")[0] for each in copied for value in each.results}
        fresh = {name: f"{self.text.prefix}_w{part.number}_{name[1:]}" for name in names}
        lines = [*self.text.constants(self.slots), *renamed([*own, *write_loop(self.loops, part).lines], fresh)]
        given = [(value.name, value.type) for value in captured]
        return lines, [*given, *self.loops.ring_text.captured(self.loops.rings, part)]

    # --- warps ------------------------------------------------------------------------------------------------------

    def _warps(self, part: Part) -> int:
        enough = _COPY_WARP if self._only_begins_copies(part) else _WARPS
        return max(count for count in _COUNTS if count <= (self.schedule.warps[part.number] or enough))

    def _only_begins_copies(self, part: Part) -> bool:
        """Whether nothing that it does is spread over threads."""
        fields = [each for ring in self.loops.rings if ring.writer == part.number for each in ring.fields]
        if part.reads or any(each.transport != TMA for each in fields):
            return False
        copies = {each.made for each in fields}
        return not any(
            value.type.startswith("tensor<")
            for place in part.places
            if self.split.operations[place] not in copies
            for inner in self.split.operations[place].walk()
            for value in (*inner.results, *inner.operands)
        )

    def _registers(self, workers: Sequence[Part]) -> str:
        if self.machine.capability < HOPPER or not all(map(self._only_begins_copies, workers)):
            return ""
        return f", requestedRegisters = array<i32: {', '.join([str(_COPY_REGISTERS)] * len(workers))}>"

    def _check_warps(self, warps: Sequence[int]) -> None:
        own, machine = self.split.own, self.machine
        asked, name = self.schedule.warps[own], self.schedule.names[own]
        row, hint = None, ""
        if asked and asked < machine.num_warps:
            row = Row(f"{name}, which makes what is used behind the loop", f"{machine.num_warps} warps", str(asked))
            hint = "it is run by the launch's num_warps: launch with fewer, or name more"
        elif machine.num_warps + -(-sum(warps) // _GROUP) * _GROUP > _MOST_WARPS:
            got = f"{machine.num_warps} and {list(warps)}"
            row = Row("num_warps and those of executors", f"at most {_MOST_WARPS} together", got)
            hint = "a block has no more; those of executors are started by fours"
        if row is not None:
            site = Locations(self.lines).source_location(self.text.location)
            raise ScheduleError("tle.range: executors without such warps", table=[row], hint=hint).at(call_site=site)


def _with_name(lines: Sequence[str], name: str, new: str) -> list[str]:
    """Lines in which one value has another name."""
    old = re.compile(re.escape(name) + r"(?![\w$.\-#:])")
    return [old.sub(lambda _: new, line) for line in lines]
