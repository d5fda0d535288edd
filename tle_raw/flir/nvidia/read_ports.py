"""Find the port markers of a converted module and group them into regions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from tle_raw.errors import RegionError
from tle_raw.fragments.bound import TILE
from tle_raw.linker.mlir.locations import Locations
from tle_raw.linker.mlir.text import OPERATION, TextOperation, block_ids, read_operation
from tle_raw.regions import ports
from tle_raw.regions.ports import RegionRecord, record_from_text


@dataclass
class Port:
    """One marker: the line it stands on, its operation, and which parameter of the region it carries."""

    line: int
    operation: TextOperation
    parameter: int = -1


@dataclass
class Region:
    """One use of a fragment in the module: its markers in order. ``opened`` holds the in and new ports."""

    record: RegionRecord
    block: int
    call: Port
    opened: list[Port] = field(default_factory=list)
    closed: list[Port] = field(default_factory=list)

    @cached_property
    def is_element(self) -> bool:
        """Whether the fragment is applied to each element."""
        return self.call.operation.attribute("symbol") == ports.ELEMENT

    def opens_new(self, port: Port) -> bool:
        """The port's buffer starts without content."""
        return port.operation.attribute("symbol").startswith(ports.NEW)

    def writes(self, port: Port) -> bool:
        """Whether the region may write the port's tile."""
        return self.record.bound.parameters[port.parameter].effect != "In"


@dataclass(frozen=True)
class RegionPlace:
    """Whose warps run a region.

    Attributes
    ----------
    kernel_number : of the ``warp_specialize`` in the kernel; -1 of the kernel's own warps, wherever they run it.
    worker : which of its workers, or -1.
    num_warps : how many warps there are.
    """

    kernel_number: int
    worker: int
    num_warps: int

    @property
    def name(self) -> str:
        """As errors call it; "" of the kernel's own warps."""
        return "" if self.worker < 0 else f"worker {self.worker}"


def holds_ports(text: str) -> bool:
    """Whether a module's text holds any region at all."""
    return f'symbol = "{ports.CALL}"' in text or f'symbol = "{ports.ELEMENT}"' in text


def is_border(line: str, side: str = "") -> bool:
    """Whether a traced region begins or ends at this line."""
    return f'symbol = "{ports.BOUNDARY}.{side}' in line


def is_other(line: str) -> bool:
    """Whether a line is a marker of no region: a named barrier, or a layout."""
    return f'symbol = "{ports.NAMED}.' in line or f'symbol = "{ports.LAYOUT}' in line


def read_regions(lines: list[str]) -> list[Region]:
    """The regions of a module in the order of their calls.

    Raises
    ------
    RegionError : markers do not form whole regions; a pass of Triton's moved or dropped one.
    """
    blocks, locations = block_ids(lines), Locations(lines)
    regions: list[Region] = []
    waiting: dict[int, list[Port]] = {}  # by block: ports whose call has not come yet
    current: dict[int, Region] = {}  # by block: the region whose outputs are being read
    for number, line in enumerate(lines):
        if OPERATION not in line or 'symbol = "tle.' not in line or is_border(line) or is_other(line):
            continue
        operation, block = read_operation(line), blocks[number]
        symbol = operation.attribute("symbol")
        if symbol in (ports.CALL, ports.ELEMENT):
            record = record_from_text(operation.attribute("libname"), locations.source_location(operation.location))
            opened = waiting.pop(block, []) if symbol == ports.CALL else []
            region = Region(record, block, Port(number, operation), opened)
            regions.append(region)
            if symbol == ports.CALL:
                current[block] = region
            continue
        kind, _, index = symbol.rpartition(".")
        port = Port(number, operation, int(index))
        if kind == ports.OUT:
            if block not in current:
                raise _broken(line)
            current[block].closed.append(port)
        else:
            waiting.setdefault(block, []).append(port)
    if any(waiting.values()):
        raise _broken(lines[next(iter(waiting.values()))[0].line])
    for region in regions:
        _check_whole(region, lines)
    return regions


def _check_whole(region: Region, lines: list[str]) -> None:
    parameters = region.record.bound.parameters
    tiles = [i for i, p in enumerate(parameters) if p.kind == TILE]
    written = [i for i in tiles if parameters[i].effect != "In"]
    opened, closed = [p.parameter for p in region.opened], [p.parameter for p in region.closed]
    if not region.is_element and (opened != tiles or closed != written):
        raise _broken(lines[region.call.line]).at(call_site=region.record.call_site)


def _broken(line: str) -> RegionError:
    return RegionError(
        "the ports of a region were separated by one of Triton's passes",
        log=line.strip()[:300],
        hint="report this with the kernel; moving the call out of the innermost loop or branch may avoid it",
    )
