"""What a kernel's loops cost a warp at least: loop_stalls.py KERNEL.cubin...

ptxas writes into each instruction how many cycles the warp waits before its next one. Their sum over a loop is what a
round takes when nothing else is waited for. Between two kernels of the same products it tells differences of more than
five per cent. Needs no GPU. The fields are those of sm_70 to sm_90, which NVIDIA does not document.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tle_raw.linker.tools.cuda_tools import run_tool

_INSTRUCTION = re.compile(
    r"^\s+/\*(?P<address>[0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?(?P<opcode>[A-Z][\w.]*)(?P<operands>[^;]*);"
    r"\s*/\* 0x[0-9a-f]{16} \*/\n\s+/\* 0x(?P<high>[0-9a-f]{16}) \*/",
    re.MULTILINE,
)
_TARGET = re.compile(r"0x([0-9a-f]+)\s*$")
_STALL = 41  # where the high word of an instruction has the cycles, four bits
MOST_OPCODES = 12


@dataclass(frozen=True)
class Instruction:
    address: int
    opcode: str
    operands: str
    stall: int


@dataclass(frozen=True)
class Loop:
    """``instructions`` from the target of a jump back to that jump."""

    instructions: tuple[Instruction, ...]

    @property
    def cycles(self) -> int:
        return sum(i.stall for i in self.instructions)


def read_instructions(listing: str) -> list[Instruction]:
    """The instructions of a listing by cuobjdump -sass."""
    return [
        Instruction(int(m["address"], 16), m["opcode"], m["operands"], int(m["high"], 16) >> _STALL & 15)
        for m in _INSTRUCTION.finditer(listing)
    ]


def find_loops(instructions: list[Instruction]) -> list[Loop]:
    """Each jump back makes a loop; one that contains another has the other's instructions too."""
    loops = []
    for end in instructions:
        found = _TARGET.search(end.operands) if end.opcode == "BRA" else None
        if found and (start := int(found[1], 16)) < end.address:
            loops.append(Loop(tuple(i for i in instructions if start <= i.address <= end.address)))
    return loops


def main(files: list[str]) -> None:
    for file in files:
        listing = run_tool("cuobjdump", "-sass", file)
        if listing.reason:
            sys.exit(f"{file}: {listing.reason}")
        print(Path(file).name)
        for loop in find_loops(read_instructions(listing.text)):
            cycles: Counter[str] = Counter()
            for instruction in loop.instructions:
                cycles[instruction.opcode.split(".")[0]] += instruction.stall
            most = ", ".join(f"{opcode} {count}" for opcode, count in cycles.most_common(MOST_OPCODES))
            print(f"  {len(loop.instructions):5} instructions, {loop.cycles:6} cycles: {most}")


if __name__ == "__main__":
    main(sys.argv[1:])
