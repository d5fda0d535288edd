"""Find the kernel's own shared buffers that regions work in: a load before the region and a store behind it fall away.

``frontends/raw/buffers.py`` writes a region with a ``Buffer`` parameter as a load from the buffer into a port, and a
store of the port's result into it. Here they are found again, so that the region gets the buffer's address.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tle_raw.errors import RegionError, TLEError
from tle_raw.flir.nvidia.read_ports import Region
from tle_raw.linker.mlir.text import split_top_level, value_names

_DEFINED = re.compile(r"\s*(%[\w$.\-]+)[^=]* = ")
_DESCRIPTOR_LOAD = "tt.descriptor_load "
_LOAD, _STORE, _CONVERT = "ttg.local_load ", "ttg.local_store ", "ttg.convert_layout "


@dataclass(frozen=True)
class KernelBuffer:
    """A buffer of the kernel: its SSA name, its type, and the line of the store that falls away, or -1."""

    name: str
    type: str
    store: int = -1


def find_buffers(lines: Sequence[str], regions: Sequence[Region]) -> list[dict[int, KernelBuffer]]:
    """For each region: the buffers that it works in, by parameter.

    Raises
    ------
    RegionError : a load or a store is not to be found, or they are not of one buffer.
    """
    if not any(p.is_in_place for region in regions for p in region.record.bound.parameters):
        return [{} for _ in regions]
    text = _Text(lines)
    return [_of_region(text, region) for region in regions]


class _Text:
    """Lines by the values that they define and store. Branches beside each other have values of the same names."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._definitions: dict[str, list[int]] = {}
        self._stores: dict[str, list[int]] = {}
        for number, line in enumerate(lines):
            if defined := _DEFINED.match(line):
                self._definitions.setdefault(defined[1], []).append(number)
            elif _STORE in line and line.lstrip().startswith(_STORE):
                self._stores.setdefault(value_names(line)[0], []).append(number)

    def definition(self, name: str, before: int) -> int:
        """The line that defines a value which is used in line ``before``; -1 where there is none."""
        return max((number for number in self._definitions.get(name, ()) if number < before), default=-1)

    def store(self, name: str, after: int) -> int:
        """The line that stores a value which is defined in line ``after``; -1 where there is none."""
        return min((number for number in self._stores.get(name, ()) if number > after), default=-1)


def _of_region(text: _Text, region: Region) -> dict[int, KernelBuffer]:
    found: dict[int, KernelBuffer] = {}
    parameters = region.record.bound.parameters
    for port in region.opened:
        if parameters[port.parameter].is_in_place and not region.opens_new(port):
            found[port.parameter] = _loaded(port.operation.operands[0], port.line, text, region)
    for port in region.closed:
        if not parameters[port.parameter].is_in_place:
            continue
        store = text.store(port.operation.result, port.line)
        if store < 0:
            raise _lost(region, "the store of its result")
        line = text.lines[store]
        buffer = KernelBuffer(value_names(line)[1], _types(line)[1], store)
        if port.parameter in found and found[port.parameter].name != buffer.name:
            raise _lost(region, "the one buffer that it reads and writes")
        found[port.parameter] = buffer
    return found


@dataclass(frozen=True)
class KernelDescriptor:
    """A tensor descriptor of the kernel: its SSA name and type, and the lines of the load that stands for it."""

    name: str
    type: str
    lines: tuple[int, ...]


def find_descriptors(lines: Sequence[str], regions: Sequence[Region]) -> list[dict[int, KernelDescriptor]]:
    """For each region: the descriptors that it gets, by parameter. ``frontends/raw/descriptors.py`` writes them.

    Raises
    ------
    RegionError : the load that stands for one is not to be found.
    """
    if not any(p.is_descriptor for region in regions for p in region.record.bound.parameters):
        return [{} for _ in regions]
    text = _Text(lines)
    return [
        {port.parameter: _descriptor(port.operation.operands[0], port.line, text, region) for port in opened}
        for region in regions
        for opened in [[p for p in region.opened if region.record.bound.parameters[p.parameter].is_descriptor]]
    ]


def _descriptor(value: str, used: int, text: _Text, region: Region) -> KernelDescriptor:
    found, number = [], text.definition(value, used)
    while number >= 0 and _CONVERT in text.lines[number]:
        found.append(number)
        number = text.definition(value_names(text.lines[number])[1], number)
    line = text.lines[number]
    if number < 0 or _DESCRIPTOR_LOAD not in line:
        raise _lost(region, "the load that stands for its descriptor")
    return KernelDescriptor(value_names(line)[1], _types(line)[0], (*found, number))


def _loaded(value: str, used: int, text: _Text, region: Region) -> KernelBuffer:
    number = text.definition(value, used)
    while number >= 0 and _CONVERT in text.lines[number]:
        number = text.definition(value_names(text.lines[number])[1], number)
    line = text.lines[number]
    if number < 0 or _LOAD not in line:
        raise _lost(region, "the load of its argument")
    return KernelBuffer(value_names(line)[1], _types(line)[0])


def _types(line: str) -> tuple[str, str]:
    """The types on both sides of the arrow."""
    location = line.rfind(" loc(")
    text = line if location < 0 else line[:location]
    before, after = text.rsplit(" -> ", 1)
    _, _, operand = before.rpartition(" : ")  # behind the attributes, which have types of their own
    return split_top_level(operand)[0].strip(), after.strip()


def _lost(region: Region, what: str) -> TLEError:
    return RegionError(
        f"a region lost its shared buffer in one of Triton's passes: {what} is gone", hint="report this with the kernel"
    ).at(fragment=region.record.bound.name, call_site=region.record.call_site)
