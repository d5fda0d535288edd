"""Find the kernel's own shared buffers that regions work in: a load before the region and a store behind it fall away.

``frontends/raw/buffers.py`` writes a region with a ``Buffer`` parameter as a load from the buffer into a port, and a
store of the port's result into it. Here they are found again, so that the region gets the buffer's address.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tle_raw.errors import RegionError, TLEError
from tle_raw.flir.nvidia.read_ports import Region
from tle_raw.linker.mlir.text import split_top_level, value_names

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
    definitions = {value_names(line)[0]: line for line in lines if " = " in line and value_names(line)}
    stores = {value_names(line)[0]: number for number, line in enumerate(lines) if line.lstrip().startswith(_STORE)}
    return [_of_region(lines, region, definitions, stores) for region in regions]


def _of_region(
    lines: Sequence[str], region: Region, definitions: dict[str, str], stores: dict[str, int]
) -> dict[int, KernelBuffer]:
    found: dict[int, KernelBuffer] = {}
    parameters = region.record.bound.parameters
    for port in region.opened:
        if parameters[port.parameter].is_in_place and not region.opens_new(port):
            found[port.parameter] = _loaded(port.operation.operands[0], definitions, region)
    for port in region.closed:
        if not parameters[port.parameter].is_in_place:
            continue
        store = stores.get(port.operation.result, -1)
        if store < 0:
            raise _lost(region, "the store of its result")
        text = lines[store]
        buffer = KernelBuffer(value_names(text)[1], _types(text)[1], store)
        if port.parameter in found and found[port.parameter].name != buffer.name:
            raise _lost(region, "the one buffer that it reads and writes")
        found[port.parameter] = buffer
    return found


def _loaded(value: str, definitions: dict[str, str], region: Region) -> KernelBuffer:
    line = definitions.get(value, "")
    while _CONVERT in line:
        line = definitions.get(value_names(line)[1], "")
    if _LOAD not in line:
        raise _lost(region, "the load of its argument")
    return KernelBuffer(value_names(line)[1], _types(line)[0])


def _types(line: str) -> tuple[str, str]:
    """The types on both sides of the arrow."""
    location = line.rfind(" loc(")
    text = line if location < 0 else line[:location]
    before, after = text.rsplit(" -> ", 1)
    return split_top_level(before.split(" : ", 1)[1])[0].strip(), after.strip()


def _lost(region: Region, what: str) -> TLEError:
    return RegionError(
        f"a region lost its shared buffer in one of Triton's passes: {what} is gone", hint="report this with the kernel"
    ).at(fragment=region.record.bound.name, call_site=region.record.call_site)
