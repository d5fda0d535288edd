"""Decide which shared-memory buffer each tile port uses, so that consecutive regions share one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tle_raw.flir.nvidia.buffers_in_place import KernelBuffer, KernelDescriptor
from tle_raw.flir.nvidia.read_ports import Port, Region


@dataclass
class SharedBuffer:
    """One shared-memory allocation: its SSA name and the value that it holds just now.

    ``type`` is set where it is the kernel's own.
    """

    name: str
    holds: str
    last_region: int
    type: str = ""


@dataclass
class Placement:
    """What becomes of one region's ports.

    ``fresh`` lists the in and new ports (by parameter) that get a buffer of their own; the others stand in a buffer
    that a region before left in place, or in one of the kernel's own. ``dies`` names the buffers that no later region
    uses. ``before`` and ``after`` say where barriers stand; where they are ``for_tiles``, they order shared memory,
    else global memory. ``stores`` are the lines of stores into the kernel's own buffers that fall away, and of loads
    that stand for ``descriptors``, which the region gets by parameter.
    """

    buffers: dict[int, SharedBuffer] = field(default_factory=dict)
    fresh: set[int] = field(default_factory=set)
    dies: list[SharedBuffer] = field(default_factory=list)
    follows_directly: bool = False
    pinned: bool = False
    before: bool = False
    after: bool = False
    for_tiles: bool = False
    stores: list[int] = field(default_factory=list)
    descriptors: Mapping[int, KernelDescriptor] = field(default_factory=dict)

    @property
    def works_in_place(self) -> bool:
        """Whether any of its buffers is the kernel's own."""
        return any(buffer.type for buffer in self.buffers.values())


def place_buffers(
    regions: list[Region],
    uses: Callable[[str], int],
    in_place: Sequence[Mapping[int, KernelBuffer]],
    descriptors: Sequence[Mapping[int, KernelDescriptor]],
) -> list[Placement]:
    """Place every region's tiles.

    ``uses`` counts how often a value is written in the module; ``in_place`` are the kernel's own buffers that each
    region works in, by parameter, and ``descriptors`` those that it gets.

    A tile takes over a buffer of the same block that still holds it, when the region only reads it, or when the
    region is the value's one user. A buffer is therefore never written after somebody else still wants to read it,
    and Triton may move its loads as it likes.
    """
    live: dict[int, list[SharedBuffer]] = {}
    placements: list[Placement] = []
    for number, region in enumerate(regions):
        placement = Placement(descriptors=descriptors[number])
        placement.stores += {line for each in descriptors[number].values() for line in each.lines}
        placements.append(placement)
        if region.is_element:
            continue
        buffers = live.setdefault(region.block, [])
        taken: dict[str, bool] = {}  # buffers of this region, and whether it writes them
        for port in region.opened:
            if port.parameter in descriptors[number]:
                continue
            own = in_place[number].get(port.parameter)
            if own is None:
                _place(port, number, region, placement, buffers, taken, uses)
                continue
            placement.buffers[port.parameter] = SharedBuffer(own.name, "", number, own.type)
            placement.stores += [own.store] if own.store >= 0 else []
        _update_contents(region, placement)
    _find_deaths(regions, placements)
    _find_neighbours(regions, placements)
    return placements


def _place(
    port: Port,
    number: int,
    region: Region,
    placement: Placement,
    buffers: list[SharedBuffer],
    taken: dict[str, bool],
    uses: Callable[[str], int],
) -> None:
    value, writes = port.operation.operands[0], region.writes(port)
    reusable = None
    if not region.opens_new(port):
        reusable = next((b for b in buffers if b.holds == value and _may_share(b, value, writes, taken, uses)), None)
    if reusable is None:
        reusable = SharedBuffer(f"%tle_buffer_{number}_{port.parameter}", value, number)
        buffers.append(reusable)
        placement.fresh.add(port.parameter)
    reusable.last_region = number
    taken[reusable.name] = writes
    placement.buffers[port.parameter] = reusable


def _may_share(
    buffer: SharedBuffer, value: str, writes: bool, taken: dict[str, bool], uses: Callable[[str], int]
) -> bool:
    if buffer.name in taken:
        return not writes and not taken[buffer.name]
    return not writes or uses(value) == 2  # its definition and this port


def _update_contents(region: Region, placement: Placement) -> None:
    for port in region.opened:
        if region.writes(port):
            placement.buffers[port.parameter].holds = ""
    for port in region.closed:
        placement.buffers[port.parameter].holds = port.operation.result


def _find_deaths(regions: list[Region], placements: list[Placement]) -> None:
    for number, placement in enumerate(placements):
        seen: dict[str, SharedBuffer] = {b.name: b for b in placement.buffers.values()}
        placement.dies = [b for b in seen.values() if b.last_region == number]


def _find_neighbours(regions: list[Region], placements: list[Placement]) -> None:
    """A region that needs no new buffer and follows another's ports line by line can do without its first barrier."""
    last_line: dict[int, int] = {}
    for region, placement in zip(regions, placements):
        if region.is_element:
            continue
        first = min(p.line for p in [*region.opened, region.call])
        last = max(p.line for p in [region.call, *region.closed])
        lines = {p.line for p in [*region.opened, region.call, *region.closed]}
        contiguous = len(lines) == last - first + 1
        placement.follows_directly = (
            bool(region.opened) and not placement.fresh and contiguous and last_line.get(region.block) == first - 1
        )
        last_line[region.block] = last
