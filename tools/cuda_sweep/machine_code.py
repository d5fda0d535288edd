"""What a kernel's machine code has of everything that makes it slower or faster, counted.

The numbers are of the listing, where an instruction in a loop counts once: they show that two compilers made different
code of the same function, and where to look; how long either takes only a GPU tells.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tle_raw.linker.machine_code.demangle import demangle

_USAGE = re.compile(r"([A-Z]+)(?:\[\d+\])?:(\d+)")
_INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?\w+\s+)?([A-Z][\w.]*)([^;]*);", re.MULTILINE)
_FUNCTION = re.compile(r"^\s*Function : (\S+)\n", re.MULTILINE)
_ADDRESS = re.compile(r"0x([0-9a-f]+)")
_WIDTH = re.compile(r"\.(8|U8|S8|16|U16|S16|64|128)\b")


@dataclass(frozen=True)
class MachineCode:
    """One kernel.

    Attributes
    ----------
    stack : bytes of the frame, arrays and spills together. shared : bytes of static shared memory, with
        the kilobyte that the system keeps for itself from sm_90 on.
    local : LDL and STL instructions.
    loads, read_only : LDG instructions, and those of them that go by the read-only path (``LDG.E.CONSTANT``).
    load_bytes : what one thread loads from global memory by all of them; with ``loads`` it tells how wide they are.
    stores, store_bytes : the same of STG.
    loops : branches back, which are the loops that stayed.
    """

    registers: int
    stack: int
    shared: int
    instructions: int
    local: int
    loads: int
    load_bytes: int
    read_only: int
    stores: int
    store_bytes: int
    loops: int


def kernels_of(cubin: Path, cuobjdump: str) -> dict[str, MachineCode]:
    """The kernels of a cubin by their symbols."""

    def said(option: str) -> str:
        return subprocess.run([cuobjdump, option, str(cubin)], capture_output=True, text=True, check=True).stdout

    usage, listings = dict(_usage(said("-res-usage"))), _FUNCTION.split(said("-sass"))
    found = dict(zip(listings[1::2], listings[2::2]))
    return {name: _machine_code(usage[name], listing) for name, listing in found.items() if name in usage}


def find_kernel(kernels: dict[str, MachineCode], symbol: str) -> str:
    """The name under which a kernel stands that clang names ``symbol``: nvcc gives local ones other names.

    Raises
    ------
    KeyError : none, or not one alone.
    """
    if symbol in kernels:
        return symbol
    wanted = _plain(symbol)
    same = [name for name in kernels if _plain(name) == wanted]
    own = wanted.partition("<")[0].partition("(")[0].rpartition("::")[2].rpartition(" ")[2]
    close = same or [name for name in kernels if own in name]
    if len(close) != 1:
        raise KeyError(f"{own}: {len(close)} of {len(kernels)} kernels could be it")
    return close[0]


def _plain(symbol: str) -> str:
    return demangle(symbol).replace("(anonymous namespace)::", "").replace("void ", "", 1)


def _usage(text: str) -> Iterator[tuple[str, dict[str, int]]]:
    name = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("Function "):
            name = line.removeprefix("Function ").rstrip(":")
        elif name and line.startswith("REG:"):
            yield name, {key: int(value) for key, value in _USAGE.findall(line)}


def _machine_code(usage: dict[str, int], listing: str) -> MachineCode:
    names: Counter[str] = Counter()
    widths: Counter[str] = Counter()
    loops = read_only = 0
    for place, opcode, operands in _INSTRUCTION.findall(listing):
        name = opcode.partition(".")[0]
        names[name] += 1
        if name in ("LDG", "STG"):
            widths[name] += _bytes(opcode)
            read_only += ".CONSTANT" in opcode
        elif name == "BRA" and (target := _ADDRESS.search(operands)):
            loops += int(target[1], 16) < int(place, 16)  # the last branch of every listing goes to itself
    return MachineCode(
        registers=usage["REG"],
        stack=usage["STACK"],
        shared=usage["SHARED"],
        instructions=sum(names.values()) - names["NOP"],
        local=names["LDL"] + names["STL"],
        loads=names["LDG"],
        load_bytes=widths["LDG"],
        read_only=read_only,
        stores=names["STG"],
        store_bytes=widths["STG"],
        loops=loops,
    )


def _bytes(opcode: str) -> int:
    width = _WIDTH.search(opcode)
    return int(width[1].lstrip("US")) // 8 if width else 4
