"""Check that Triton's passes kept each region's memory operations around its call: stores before, loads after."""

from __future__ import annotations

from tle_raw.errors import RegionError
from tle_raw.flir.nvidia.read_ports import Region
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.linker.mlir.text import OPERATION, block_ids, read_operation

# The lines of a buffer's first load and last store.
Touched = tuple[int | None, int | None]
_ADDRESS = ("tti.experimental_memdesc_to_i32", "tti.experimental_memdesc_to_i64")


def check_order(lines: list[str], regions: list[Region], compiled: list[CompiledFragment]) -> None:
    """Read the finished TritonGPU module.

    Raises
    ------
    RegionError : a buffer is stored after, or loaded before, the call that works on it.
    """
    if not any(address in line for line in lines for address in _ADDRESS):
        return  # no region has a tile
    sites = {f.entry: r.record for r, f in zip(regions, compiled)}
    # Barriers stand around them from the start, and what else the kernel does with its own buffers may lie anywhere.
    pinned = {f.entry for r, f in zip(regions, compiled) if any(p.is_in_place for p in r.record.bound.parameters)}
    blocks = block_ids(lines)
    buffers: dict[str, str] = {}  # of addresses, so far: blocks beside each other use the same names
    touched = _first_load_and_last_store(lines, blocks)
    calls: dict[tuple[str, int], list[int]] = {}
    entries: dict[tuple[str, int], str] = {}
    for number, line in enumerate(lines):
        _note_address(line, buffers)
        if OPERATION not in line or 'symbol = "tle_raw_' not in line:
            continue
        operation = read_operation(line)
        if operation.attribute("symbol") in pinned:
            continue
        for operand in operation.operands:
            if operand in buffers:
                key = (buffers[operand], blocks[number])
                calls.setdefault(key, []).append(number)
                entries[key] = operation.attribute("symbol")
    for key, numbers in calls.items():
        load, store = touched.get(key, (None, None))
        if (store is not None and store > numbers[0]) or (load is not None and load < numbers[0]):
            record = sites[entries[key]]
            raise RegionError(
                "one of Triton's passes moved a region's tile across its call",
                hint="report this with the kernel; num_stages=1 on the loop around the call avoids it",
            ).at(fragment=record.bound.name, call_site=record.call_site)


def _note_address(line: str, buffers: dict[str, str]) -> None:
    """Where a line defines an address, as i32 in the end: of which buffer. Another value of the name is none."""
    name, defines, rest = line.strip().partition(" = ")
    if not defines:
        return
    source = rest.split()[1] if rest.startswith((*_ADDRESS, "arith.trunci ")) else ""
    found = source if rest.startswith(_ADDRESS) else buffers.get(source, "")
    if found:
        buffers[name] = found
    else:
        buffers.pop(name, None)


def _first_load_and_last_store(lines: list[str], blocks: list[int]) -> dict[tuple[str, int], Touched]:
    touched: dict[tuple[str, int], Touched] = {}
    for number, line in enumerate(lines):
        text = line.strip().partition(" = ")[2] or line.strip()
        words = text.split()
        if words and words[0] == "ttg.local_load":
            key = (words[1], blocks[number])
            first, last = touched.get(key, (None, None))
            touched[key] = (number if first is None else first, last)
        elif words and words[0] == "ttg.local_store":
            key = (words[2].rstrip(","), blocks[number])
            touched[key] = (touched.get(key, (None, None))[0], number)
    return touched
