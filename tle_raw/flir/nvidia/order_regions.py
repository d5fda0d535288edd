"""Put barriers where ``memory_order`` wants them: at calls, at the boundaries of traced regions, and at loops."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tle_raw.flir.nvidia.check_exclusive import stands_alone
from tle_raw.flir.nvidia.memory_events import call_event, read_events
from tle_raw.flir.nvidia.memory_order import AFTER, BEFORE, Barrier, decide_barriers
from tle_raw.flir.nvidia.place_buffers import Placement
from tle_raw.flir.nvidia.read_ports import Region, is_border
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.fragments.fragment import fragment_by_identity
from tle_raw.linker.mlir.structure import is_loop, read_structure
from tle_raw.linker.mlir.text import location_of, read_operation
from tle_raw.regions import traced_regions


def missing_barriers(
    lines: list[str], regions: Sequence[Region] = (), compiled: Sequence[CompiledFragment] = ()
) -> set[Barrier]:
    """Beside those that stand around shared memory. A region that is all of its kernel has none, nor needs any."""
    alone = stands_alone(lines, regions, compiled)
    calls, standing = {}, set()
    for region, fragment in zip(regions, compiled):
        ordered = fragment_by_identity(region.record.fragment).ordered
        calls[region.call.line] = call_event(region, fragment, ordered)
        if fragment.needs_barriers and not region.is_element and not alone:
            standing |= {(region.call.line, BEFORE), (region.call.line, AFTER)}
    return decide_barriers(read_structure(lines), read_events(lines, calls), standing)


def place_barriers(
    regions: Sequence[Region],
    placements: Sequence[Placement],
    compiled: Sequence[CompiledFragment],
    missing: Collection[Barrier],
    alone: bool = False,
) -> None:
    """Tell each call's placement of its barriers. A region that follows another's ports has that one's before it.

    ``alone``: the region is all that its kernel does.
    """
    for region, placement, fragment in zip(regions, placements, compiled):
        for_tiles = fragment.needs_barriers and not region.is_element and not alone
        placement.for_tiles = for_tiles
        placement.before = not placement.follows_directly if for_tiles else (region.call.line, BEFORE) in missing
        placement.after = for_tiles or (region.call.line, AFTER) in missing


def place_in_text(lines: list[str], missing: Collection[Barrier], barrier: str) -> None:
    """The barriers of traced regions and of loops; calls get theirs later. The lines keep their numbers."""
    _replace_borders(lines, missing, barrier)
    _insert_at_loops(lines, missing, barrier)


def _replace_borders(lines: list[str], missing: Collection[Barrier], barrier: str) -> None:
    """Barriers, or nothing, in place of the markers."""
    begun, count = -1, 0
    for number, line in enumerate(lines):
        if not is_border(line):
            continue
        operation = read_operation(line)
        begins = is_border(line, "begin")
        begun, count = (number, 0) if begins else (begun, count)
        stands = (begun, BEFORE if begins else AFTER) in missing
        lines[number] = operation.indent + barrier + operation.location if stands else ""
        count += stands
        if not begins and count:
            traced_regions.add_note(operation.attribute("libname"), _note(count))


def _insert_at_loops(lines: list[str], missing: Collection[Barrier], barrier: str) -> None:
    """Barriers in front of loops and behind them."""
    for number, side in missing:
        line = lines[number]
        if side == BEFORE and is_loop(line):
            lines[number] = f"{barrier}{location_of(line)}\n{line}"
        elif side == AFTER and line.lstrip().startswith("}"):
            lines[number] = f"{line}\n{barrier}{location_of(line)}"


def _note(count: int) -> str:
    barriers = "1 block barrier orders" if count == 1 else f"{count} block barriers order"
    return f"{barriers} its memory with the code around it; ordered=False promises they need not"
