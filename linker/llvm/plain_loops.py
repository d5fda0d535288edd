"""Loops of CUDA code count as they are written, and sums are added where they are written.

LLVM's code generation gives every address of a loop a variable of its own ("loop strength reduction"), 64 bits each:
a product of quantised matrices takes 72 registers for nvcc's 48, and fewer blocks fit. It also moves an addition whose
sum is used by the loop's next turn alone to the loop's end, so that everything that is added stays in registers: the
gradients of a layer norm spill 1,880 bytes for nvcc's 256. nvcc does neither. A variable that goes through inline
assembly without a word is none that LLVM computes with, and stays where it is.

Only loops are meant that a C++ compiler has marked: Triton's own have no metadata. Short ones keep LLVM's variables,
in which ptxas sees how often they turn, and unrolls them; and so do those with many branches, where plain counting
took up to half as long again, and those that multiply in 64 bits, which LLVM's variables spare. A loop whose turns are
a grid apart always counts as written: most blocks take one turn, for which LLVM prepares the addresses of many.
Pointers are left alone, for LLVM finds out what memory they point to by the same way.

It is for kernels that are one region alone (``WHOLE`` in the fragment's text), for which it was measured: a softmax of
rows in a Triton kernel spills with it, and not without. What it pays says samples/benchmarks/RESULTS.md;
``TLE_RAW_DISABLE_PASSES=plain-loops`` compiles without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tle_raw.linker.llvm.control_flow import NAME, with_bodies

WHOLE = "!tle.whole.kernel"  # metadata in the LLVM IR of a fragment

_LABEL = re.compile(r'([-\w$.]+|"[^"]*"):')
_RESULT = re.compile(rf"  ({NAME}) = (\w+)")
_PHI = re.compile(rf"  {NAME} = phi (\w+) (\[.*\])")
_INCOMING = re.compile(rf"\[ ({NAME}), ({NAME}) \]")
_TARGET = re.compile(rf"label ({NAME})")
_INTEGERS = {"i16": "h", "i32": "r", "i64": "l"}
_FLOATS = {"float": "f", "double": "d"}
_ACCESS = re.compile(r"  (?:%\S+ = load|store|.* asm .*\b(?:ld|st)\.global) ")
_GRID = re.compile(rf"  ({NAME}) = (?:tail )?call [^@\n]*@llvm\.nvvm\.read\.ptx\.sreg\.nctaid\.")
_WIDENED = re.compile(rf"  ({NAME}) = [sz]ext (?:nneg )?i32 ({NAME}) to i64")
_SUM = re.compile(rf"  {NAME} = add (?:nuw |nsw )*i\d+ {NAME}, ({NAME})")
_PRODUCT = re.compile(r"  \S+ = mul (?:nuw |nsw )*i64 ")  # five instructions
_SHORT, _FEW, _BRANCHY = 24, 4, 4  # instructions, of them accesses to memory; blocks


@dataclass
class _Block:
    name: str
    number: int
    place: int = 0
    phis: list[tuple[str, str]] = field(default_factory=list)  # type, incoming values


def plain_loops(text: str) -> str:
    """The module with what the marked loops count and add behind inline assembly."""
    if "!llvm.loop " not in text:
        return text
    return with_bodies(text, _plain)


def _plain(body: str) -> str:
    lines = body.split("\n")
    block = _Block("", 0)
    blocks, results, ends = {"": block}, {}, []
    for place, line in enumerate(lines):
        if label := _LABEL.match(line):
            block = blocks[f"%{label[1]}"] = _Block(f"%{label[1]}", len(blocks), place)
        elif phi := _PHI.match(line):
            block.phis.append((phi[1], phi[2]))
        elif result := _RESULT.match(line):
            results[result[1]] = (place, block)
        elif line.startswith("  br ") and "!llvm.loop " in line:
            ends.append((block, place, _TARGET.findall(line)))
    kept = dict(enumerate(lines))
    grid = _sizes_of_grid(lines)
    for end, last, targets in ends:
        for begin in (blocks[name] for name in targets if name in blocks and blocks[name].number <= end.number):
            counts = _counts_plainly(lines[begin.place : last + 1], end.number - begin.number + 1)
            for name, type_, register in _carried(begin, end):
                place, home = results.get(name, (-1, end))
                if place < 0:
                    continue
                step = _SUM.match(lines[place])
                is_of_grid = step is not None and step[1] in grid
                if counts or is_of_grid if type_ in _INTEGERS else home is not end:
                    kept[place] = _kept(lines[place], name, type_, register)
    return "\n".join(kept.values())


def _sizes_of_grid(lines: list[str]) -> set[str]:
    """How many blocks the grid has along its axes, in 32 bits and in 64."""
    found = {size[1] for line in lines if (size := _GRID.match(line))}
    return found | {wide[1] for line in lines if found and (wide := _WIDENED.match(line)) and wide[2] in found}


def _counts_plainly(turn: list[str], blocks: int) -> bool:
    """Whether what a loop counts is kept from LLVM."""
    is_short = len(turn) < _SHORT and sum(bool(_ACCESS.match(line)) for line in turn) < _FEW
    return blocks <= _BRANCHY and not is_short and not any(map(_PRODUCT.match, turn))


def _carried(begin: _Block, end: _Block) -> Iterator[tuple[str, str, str]]:
    """The values that one turn leaves to the next, with the type and the constraint of a register."""
    for type_, incoming in begin.phis:
        register = _INTEGERS.get(type_) or _FLOATS.get(type_)
        for value, origin in _INCOMING.findall(incoming) if register else ():
            if origin == end.name:
                yield value, type_, str(register)


def _kept(line: str, name: str, type_: str, register: str) -> str:
    """The instruction under another name, and assembly that gives its result the old one."""
    own = f'%"tle.{name[1:].strip(chr(34))}"'
    kept = f'  {name} = call {type_} asm sideeffect "", "={register},0"({type_} {own}) nounwind memory(none)'
    return f"{line.replace(name, own, 1)}\n{kept}"
