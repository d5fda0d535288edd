"""What the lines of a kernel do to global memory, its regions among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tle_raw.flir.nvidia.read_ports import Region, is_border
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.linker.mlir.structure import label_of
from tle_raw.linker.mlir.text import OPERATION, operation_name

TRITON = -1  # who touches memory outside of all regions

_READS = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather", "tt.experimental_descriptor_load")
_WRITES = ("tt.store", "tt.descriptor_store", "tt.descriptor_scatter", "tt.experimental_descriptor_store")
_BOTH = ("tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_reduce", "tt.call")
_IMPURE = ("tt.elementwise_inline_asm", OPERATION)
_BARRIERS = ("gpu.barrier", "ttg.barrier", "nvvm.barrier0")
_JUMPS = ("cf.br", "cf.cond_br", "cf.switch")


class Kind(Enum):
    ACCESS = "access"
    BEGIN, END, WHOLE = "begin", "end", "whole"  # of a region: WHOLE is one line
    BARRIER, LABEL, JUMP = "barrier", "label", "jump"


@dataclass(frozen=True)
class Event:
    """``region`` is set at a region's boundaries: the line where it begins."""

    kind: Kind
    reads: bool = False
    writes: bool = False
    region: int = TRITON
    text: str = ""


def read_events(lines: list[str], calls: Mapping[int, Event]) -> dict[int, Event]:
    """The events of a module, by line; ``calls`` are those of linked regions."""
    found: dict[int, Event] = {}
    begun = TRITON
    for number, line in enumerate(lines):
        if number in calls:
            found[number] = calls[number]
        elif is_border(line, "begin"):
            begun, found[number] = number, Event(Kind.BEGIN, region=number)
        elif is_border(line, "end"):
            found[number] = Event(Kind.END, region=begun)
        elif event := _plain(line):
            found[number] = event
    return found


def call_event(region: Region, fragment: CompiledFragment, ordered: bool) -> Event:
    """A linked region; one that promised to meet nothing touches nothing here."""
    reads, writes = ordered and fragment.reads_global, ordered and fragment.writes_global
    if region.is_element:
        return Event(Kind.ACCESS, reads, writes)
    return Event(Kind.WHOLE, reads, writes, region.call.line)


def _plain(line: str) -> Event | None:
    if label_of(line):
        return Event(Kind.LABEL, text=line)
    name = operation_name(line)
    if name in _JUMPS:
        return Event(Kind.JUMP, text=line)
    if name in _BARRIERS:
        return Event(Kind.BARRIER)
    if name in _IMPURE and "pure = true" not in line and 'symbol = "tle' not in line:
        return Event(Kind.ACCESS, True, True)
    both = name in _BOTH or name.startswith(("ttng.async_tma", "ttg.async_copy"))
    reads, writes = both or name in _READS, both or name in _WRITES
    return Event(Kind.ACCESS, reads, writes) if reads or writes else None
