"""Reads a cubin through cuobjdump and nvdisasm: resources, calls, and source lines of the machine code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tle_raw.linker.processes.temporary_folder import temporary_folder
from tle_raw.linker.tools.cuda_tools import ToolOutput, run_tool

INSTRUCTION_BYTES = 16
# From sm_90 on, tools count the kilobyte that the system itself keeps in every block's shared memory.
RESERVED_SHARED = 1024
REGISTER_TARGET = "(through a register)"

_USAGE = re.compile(r"([A-Z]+)(?:\[\d+\])?:(\d+)")
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+\s+)?([A-Z][\w.]*)([^;]*);", re.MULTILINE)
_PLACE = re.compile(r'File "([^"]*)", line (\d+)')


@dataclass(frozen=True)
class SassLine:
    """Machine instructions of one source line. ``places`` are (file, line), innermost first."""

    places: tuple[tuple[str, int], ...]
    instructions: int


@dataclass(frozen=True)
class CubinFacts:
    """What a cubin holds. With a ``reason`` the tools could not be used, and every other field is empty.

    ``stack`` is the frame, arrays and spills together; ``local_loads`` and ``local_stores`` are LDL and STL
    instructions. ``calls`` are the targets of CALL instructions, each as often as it is called; ptxas
    adds some of its own, as for a double-precision division. ``static_shared`` leaves out the system's share.
    """

    entries: tuple[str, ...] = ()
    registers: int | None = None
    static_shared: int | None = None
    stack: int | None = None
    local: int | None = None
    calls: tuple[str, ...] = ()
    instructions: int | None = None
    code_bytes: int | None = None
    local_loads: int | None = None
    local_stores: int | None = None
    lines: tuple[SassLine, ...] = ()
    reason: str = ""


def read_cubin(cubin: bytes) -> CubinFacts:
    """The facts of a cubin; never raises for what a tool does or lacks."""
    try:
        return _read(cubin)
    except _NoTool as error:
        return CubinFacts(reason=str(error))


class _NoTool(Exception):
    """Not kept: the tool may be there next time."""


@lru_cache(maxsize=8)  # a report and a check of the same kernel: both tools together take 0.4 s
def _read(cubin: bytes) -> CubinFacts:
    with temporary_folder() as folder:
        file = Path(folder, "kernel.cubin")
        file.write_bytes(cubin)
        usage = run_tool("cuobjdump", "-res-usage", str(file))
        listing = _listing(str(file))
    if reason := usage.reason or listing.reason:
        raise _NoTool(reason)
    return facts_of(usage.text, listing.text)


def _listing(file: str) -> ToolOutput:
    """Disassembly with source lines; an nvdisasm older than the assembler may refuse what cuobjdump reads."""
    for arguments in (("nvdisasm", "-c", "-gi"), ("nvdisasm", "-c"), ("cuobjdump", "-sass")):
        listing = run_tool(*arguments, file)
        if not listing.reason and _INSTRUCTION.search(listing.text):
            return listing
    return listing if listing.reason else ToolOutput("", "the disassembly holds no instruction")


def facts_of(usage: str, listing: str) -> CubinFacts:
    """The facts that cuobjdump's resource table and a disassembly tell."""
    functions = _functions(usage)
    entries = _entries(listing) or tuple(functions)
    resources = functions.get(entries[0], {}) if entries else {}
    found = [(match[1], match[2]) for match in _INSTRUCTION.finditer(listing)]
    names = Counter(opcode.split(".")[0] for opcode, _ in found)
    calls = tuple(_target(text, entries) for opcode, text in found if opcode.split(".")[0] in ("CALL", "JCAL"))
    return CubinFacts(
        entries=entries,
        registers=resources.get("REG"),
        static_shared=_without_reserved(resources.get("SHARED"), listing),
        stack=resources.get("STACK"),
        local=resources.get("LOCAL"),
        calls=calls,
        instructions=len(found) - names["NOP"],
        code_bytes=len(found) * INSTRUCTION_BYTES,
        local_loads=names["LDL"],
        local_stores=names["STL"],
        lines=tuple(SassLine(places, count) for places, count in _lines(listing).items()),
    )


def _functions(usage: str) -> dict[str, dict[str, int]]:
    """`` Function kern:`` and, on its next line, ``REG:25 STACK:48 SHARED:1248 …``."""
    found: dict[str, dict[str, int]] = {}
    name = ""
    for line in map(str.strip, usage.splitlines()):
        if line.startswith("Function "):
            name = line.removeprefix("Function ").rstrip(":")
        elif name and line.startswith("REG:"):
            found[name] = {key: int(value) for key, value in _USAGE.findall(line)}
            name = ""
    return found


def _entries(listing: str) -> tuple[str, ...]:
    """nvdisasm marks entries ``.other kern,@"STO_CUDA_ENTRY …"``; cuobjdump prints no such line."""
    return tuple(re.findall(r'^\s*\.other\s+(\S+?),\s*@"[^"]*STO_CUDA_ENTRY', listing, re.MULTILINE))


def _target(operands: str, entries: tuple[str, ...]) -> str:
    """A call's function from ``` `($kern$helper)```; an address is not turned into a name."""
    symbol = re.search(r"`\(([^)]*)\)", operands)
    if not symbol:
        return operands.strip() if "0x" in operands else REGISTER_TARGET
    for entry in entries:
        if symbol[1].startswith(f"${entry}$"):
            return symbol[1].removeprefix(f"${entry}$")
    return symbol[1]


def _without_reserved(shared: int | None, listing: str) -> int | None:
    capability = re.search(r"\bsm_(\d+)", listing) or re.search(r"EF_CUDA_SM(\d+)", listing)
    reserved = RESERVED_SHARED if capability and int(capability[1]) >= 90 else 0
    return shared if shared is None or shared < reserved else shared - reserved


def _lines(listing: str) -> Counter[tuple[tuple[str, int], ...]]:
    """Count instructions under ``//## File "x.cu", line 9 …`` comments; several in a row are one chain."""
    counts: Counter[tuple[tuple[str, int], ...]] = Counter()
    places: tuple[tuple[str, int], ...] = ()
    continues = False
    for line in listing.splitlines():
        if line.lstrip().startswith("//## File"):
            places = (*(places if continues else ()), *_first_place(line))
            continues = True
        elif _INSTRUCTION.match(line):
            continues = False
            if places:
                counts[places] += 1
    return counts


def _first_place(line: str) -> Iterator[tuple[str, int]]:
    match = _PLACE.search(line)
    if match:
        yield match[1], int(match[2])
