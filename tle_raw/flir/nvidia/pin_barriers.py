"""Find regions whose barriers stand from the start: those outside of loops, and those whose loop must not be pipelined.

The pipeliner runs loads some iterations ahead, with everything that their addresses depend on by SSA value. A tile
that leaves a region is loaded from shared memory, so its value depends on the call without an SSA edge; run ahead of
the call it would be stale. A barrier inside the loop keeps the pipeliner away. The same holds for what a region writes
to global memory, where the loop loads from the same argument of the kernel; of two arguments the pipeliner itself takes
for granted that they are not one tensor. And it holds where a region works in a shared buffer of the kernel: what the
kernel does with that buffer depends on the call without an SSA edge too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tle_raw.flir.nvidia.place_buffers import Placement
from tle_raw.flir.nvidia.read_ports import Region
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.linker.mlir.structure import lines_in_loops
from tle_raw.linker.mlir.text import brace_depth, value_names

_ITERATION = re.compile(r"iter_args\((.*?)\) ->")
_POINTER = re.compile(r"(%[\w$.\-]+): (?:!tt.ptr|!tt.tensordesc)")
_PARTITION = re.compile(r"\s*partition\d+\(")
_LOADS = ("tt.load ", "tt.descriptor_load ", "tt.descriptor_gather ", "ttng.async_tma", "tt.atomic_")


def pin_barriers(
    lines: list[str], regions: list[Region], placements: list[Placement], compiled: Sequence[CompiledFragment]
) -> None:
    """Mark the placements whose barriers can or must stand at once: outside of loops, and before loads that depend."""
    in_loops, flow = lines_in_loops(lines), _Flow(lines)
    for region, placement, fragment in zip(regions, placements, compiled):
        if region.is_element:
            continue
        outside = region.call.line not in in_loops
        writes = fragment.writes_global and (placement.before or placement.after)
        placement.pinned = (
            outside
            or placement.works_in_place
            or flow.reaches_load({region.call.operation.result, *(p.operation.result for p in region.closed)})
            or (writes and _is_loaded(lines, in_loops, flow, region.call.operation.operands))
        )


def _is_loaded(lines: list[str], in_loops: set[int], flow: _Flow, pointers: Sequence[str]) -> bool:
    """Whether a loop loads from an argument of the kernel that the pointers come from."""
    return any(
        derived.intersection(pointers) and flow.loads_from(derived, in_loops)
        for derived in (flow.derived(arguments) for arguments in _arguments(lines))
    )


def _arguments(lines: list[str]) -> list[set[str]]:
    """The names of the functions' pointers, each by itself; those of a partition may all be made of one of them."""
    functions = [{name} for line in lines if "tt.func" in line for name in _POINTER.findall(line)]
    return functions + [set(_POINTER.findall(line)) for line in lines if _PARTITION.match(line)]


@dataclass(slots=True)
class _Line:
    """The names that a line defines, and those that it uses.

    ``opener`` is the line with the regions of one of which it yields; ``passes_on`` is False where results do not come
    from operands.
    """

    results: list[str]
    operands: list[str]
    loads: bool
    passes_on: bool
    opener: str


class _Flow:
    """Where the values of a text go, loops around too. It is read when it is asked for first: few kernels need it."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._text = lines

    def reaches_load(self, names: set[str]) -> bool:
        """Whether a load depends on any of these values."""
        return any(line.loads for line in self._reached(names))

    def derived(self, arguments: set[str]) -> set[str]:
        """The addresses that are made of arguments; what is loaded there is none."""
        found = set(arguments)
        for _ in self._reached(found):
            pass
        return found

    def loads_from(self, derived: set[str], numbers: Iterable[int]) -> bool:
        """Whether any of the lines with these numbers loads from such an address."""
        lines = (self._lines[number] for number in numbers)
        return any(line.loads and not derived.isdisjoint(line.operands) for line in lines)

    def _reached(self, names: set[str]) -> Iterator[_Line]:
        """The lines that use values of these names, and of those that come from them, which are added."""
        pending = list(names)
        while pending:
            for line in self._uses.get(pending.pop(), ()):
                yield line
                pending += (new := _made(line, names) - names)
                names |= new

    @cached_property
    def _uses(self) -> dict[str, list[_Line]]:
        uses: dict[str, list[_Line]] = {}
        for line in self._lines:
            for name in line.operands:
                uses.setdefault(name, []).append(line)
        return uses

    @cached_property
    def _lines(self) -> list[_Line]:
        found, openers = list[_Line](), list[str]()
        for line in self._text:
            yields = "scf.yield" in line and openers
            passes_on = "tt.extern_elementwise" not in line or "tle." not in line
            loads = any(load in line for load in _LOADS)
            found.append(_Line(*_split(line), loads, passes_on, openers[-1] if yields else ""))
            _follow(line, openers)
        return found


def _follow(line: str, openers: list[str]) -> None:
    """Keep the stack of lines whose regions are open.

    Braces of attributes close on their own line; `} else {` stays with the line that opened the first branch.
    """
    depth = brace_depth(line)
    if depth > 0:
        openers.extend([line] * depth)
    elif depth < 0:
        del openers[depth:]


def _split(line: str) -> tuple[list[str], list[str]]:
    """Names that the line defines, and names that it uses."""
    head, equals, rest = line.partition(" = ")
    if not equals or not head.strip().startswith("%"):
        return [], value_names(line)
    return value_names(head), value_names(rest)


def _made(line: _Line, known: set[str]) -> set[str]:
    """What a line makes of the values that are known among its operands: its results; of a load they are data."""
    if line.loads:
        return set()
    if line.opener:
        return _yielded(line.opener, line.operands, known)
    return set(line.results) if line.passes_on else set()


def _yielded(opener: str, operands: list[str], known: set[str]) -> set[str]:
    """What a yield makes of its operands: the loop's iteration values and results, or a branch's results."""
    results = set(_split(opener)[0])
    carried = _ITERATION.search(opener)
    if not carried:
        return results
    arguments = [pair.split("=")[0].strip() for pair in carried[1].split(",")]
    return results | {a for a, o in zip(arguments, operands) if o in known}
