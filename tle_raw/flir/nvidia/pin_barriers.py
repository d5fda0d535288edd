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
from collections.abc import Sequence

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
    in_loops = lines_in_loops(lines)
    for region, placement, fragment in zip(regions, placements, compiled):
        if region.is_element:
            continue
        outside = region.call.line not in in_loops
        writes = fragment.writes_global and (placement.before or placement.after)
        placement.pinned = (
            outside
            or placement.works_in_place
            or _reaches_load(lines, {region.call.operation.result, *(p.operation.result for p in region.closed)})
            or (writes and _is_loaded(lines, in_loops, region.call.operation.operands))
        )


def _follow(line: str, openers: list[str]) -> None:
    """Keep the stack of lines whose regions are open.

    Braces of attributes close on their own line; `} else {` stays with the line that opened the first branch.
    """
    depth = brace_depth(line)
    if depth > 0:
        openers.extend([line] * depth)
    elif depth < 0:
        del openers[depth:]


def _reaches_load(lines: list[str], tainted: set[str]) -> bool:
    """Follow the values through the text until nothing new is reached; loops carry them around."""
    while True:
        before = len(tainted)
        if _sweep(lines, tainted):
            return True
        if len(tainted) == before:
            return False


def _is_loaded(lines: list[str], in_loops: set[int], pointers: Sequence[str]) -> bool:
    """Whether a loop loads from an argument of the kernel that the pointers come from."""
    return any(
        derived.intersection(pointers) and any(_loads_from(lines[n], derived) for n in in_loops)
        for derived in (_derived(lines, arguments) for arguments in _arguments(lines))
    )


def _arguments(lines: list[str]) -> list[set[str]]:
    """The names of the functions' pointers, each by itself; those of a partition may all be made of one of them."""
    functions = [{name} for line in lines if "tt.func" in line for name in _POINTER.findall(line)]
    return functions + [set(_POINTER.findall(line)) for line in lines if _PARTITION.match(line)]


def _derived(lines: list[str], arguments: set[str]) -> set[str]:
    """The addresses that are made of arguments; what is loaded there is none."""
    derived, before = set(arguments), 0
    while len(derived) != before:
        before = len(derived)
        _sweep([line for line in lines if not any(load in line for load in _LOADS)], derived)
    return derived


def _loads_from(line: str, derived: set[str]) -> bool:
    return any(load in line for load in _LOADS) and bool(derived.intersection(_split(line)[1]))


def _sweep(lines: list[str], tainted: set[str]) -> bool:
    openers: list[str] = []
    for line in lines:
        results, operands = _split(line)
        if tainted.intersection(operands):
            if any(load in line for load in _LOADS):
                return True
            if "scf.yield" in line and openers:
                tainted.update(_yielded(openers[-1], operands, tainted))
            elif "tt.extern_elementwise" not in line or "tle." not in line:
                tainted.update(results)
        _follow(line, openers)
    return False


def _split(line: str) -> tuple[list[str], list[str]]:
    """Names that the line defines, and names that it uses."""
    head, equals, rest = line.partition(" = ")
    if not equals or not head.strip().startswith("%"):
        return [], value_names(line)
    return value_names(head), value_names(rest)


def _yielded(opener: str, operands: list[str], tainted: set[str]) -> set[str]:
    """What a yield makes of tainted operands: the loop's iteration values and results, or a branch's results."""
    results = set(_split(opener)[0])
    carried = _ITERATION.search(opener)
    if not carried:
        return results
    arguments = [pair.split("=")[0].strip() for pair in carried[1].split(",")]
    return results | {a for a, o in zip(arguments, operands) if o in tainted}
