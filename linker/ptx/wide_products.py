"""A product of 64 bits is added to an address by an instruction of its own, in PTX, as nvcc writes it.

LLVM's code generation makes one instruction of an index, a size and a base (``mad.wide.s32``). ptxas makes two of it
where the size is a power of two, a shift and a sum of each half (LEA, LEA.HI), and holds a carry in between; of the
product and the sum apart, which nvcc writes, it makes one (IMAD.WIDE; 12.8, sm_90). Sixteen rows that a block of
MarlinMoE looks up and copies take 412 instructions for 439, and they are not waited for as often.

Sizes of two, four and eight bytes stay in one instruction, but where matrices are multiplied: of 96 kernels of other
packages those that gather and copy elements took 0.94 to 0.98 of the time with it, and MarlinMoE 1.02. Sixteen bytes
took 1.05, and sizes that are no power of two 1.10.

It is for kernels that are one region alone. What it pays says samples/benchmarks/RESULTS.md;
``TLE_RAW_DISABLE_PASSES=wide-products`` compiles without it.
"""

from __future__ import annotations

import re

from tle_raw.linker.ptx.code_lines import has_one_function, instructions, without_debug_info
from tle_raw.linker.ptx.read import read_ptx

_BOTH = re.compile(r"mad\.wide\.([su]32)\s+(%rd\d+), ([^,]+), ([^,]+), (%rd\d+);")
_MULTIPLIES = re.compile(r"\b(?:w?mma|wgmma)\.")
_SHORT = ("2", "4", "8")
_REGISTERS = re.compile(r"^(\s*\.reg \.b64\s+%rd<)(\d+)>;", re.MULTILINE)


def wide_products(text: str) -> str:
    """The PTX with such products and sums apart."""
    registers = _REGISTERS.findall(text) if "mad.wide." in text else ()
    if len(registers) != 1 or not has_one_function(text):
        return text
    together = () if _multiplies_matrices(text) else _SHORT
    lines, debug_info = without_debug_info(text)
    declared = next(number for number, line in enumerate(lines) if _REGISTERS.match(line))
    first = last = int(registers[0][1])
    for place, (line, is_plain) in enumerate(instructions(lines)):
        if is_plain and (found := _BOTH.match(line)):
            kind, result, one, other, base = found.groups()
            if other in together:
                continue
            lines[place] = f"\tmul.wide.{kind} \t%rd{last}, {one}, {other};\n\tadd.s64 \t{result}, {base}, %rd{last};"
            last += 1
    if last == first:
        return text
    lines[declared] = _REGISTERS.sub(rf"\g<1>{last}>;", lines[declared])
    return "\n".join(lines) + debug_info


def _multiplies_matrices(text: str) -> bool:
    """Whether an instruction does, in assembly too: a comment or the path of a file may have such a word as well."""
    return bool(_MULTIPLIES.search(text)) and any(
        _MULTIPLIES.search(each.opcode) for each in read_ptx(text).instructions
    )
