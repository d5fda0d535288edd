"""Loops that LLVM has unrolled, and whose turns are counted in 64 bits, are not unrolled by ptxas once more, in PTX.

A loop of as many turns as an argument says becomes one that does four turns at a time and counts them down::

    $L__BB0_13:
        …
        add.s64   %rd89, %rd89, -4;
        setp.ne.b64   %p7, %rd89, 0;
        @%p7 bra   $L__BB0_13;

ptxas unrolls it again: sixteen turns at a time, then eight, then four, with a comparison of 64 bits in front of each.
nvcc adds two sums up to ask for the end of such a loop, by which ptxas does not count: nvcc's machine code has the loop
once, and where the argument is four it goes through it once. What nvcc writes, with one sum in place of two, becomes as
long as ours (12.8, sm_90: 680 instructions for 485). ``.pragma "nounroll"`` is what both compilers write where a loop
is to stay as it is. In 32 bits nvcc counts as LLVM does, and ptxas unrolls both.

It is for kernels that are one region alone. What it pays says samples/benchmarks/RESULTS.md;
``TLE_RAW_DISABLE_PASSES=unroll-once`` compiles without it.
"""

from __future__ import annotations

import re

from tle_raw.linker.ptx.code_lines import LABEL, has_one_function, instructions, without_debug_info

_PRAGMA = '\t.pragma "nounroll";'
_DOWN = re.compile(r"add\.s64\s+(%rd\d+), (%rd\d+), -(\d+);")
_ASKS = re.compile(r"setp\.(?:eq|ne)\.[bsu]64\s+(%p\d+), (%rd\d+), 0;")
_BRANCH = re.compile(r"(?:@!?(%p\d+)\s+)?bra(?:\.uni)?\s+(\$L__BB\w+);")


def unroll_once(text: str) -> str:
    """The PTX with the pragma at the begin of such loops."""
    if not _DOWN.search(text) or not has_one_function(text):
        return text
    lines, debug_info = without_debug_info(text)
    labels, counts = dict[str, int](), dict[str, int]()
    asked, last = dict[str, str](), ""
    marked = set[int]()
    for place, (line, is_plain) in enumerate(instructions(lines)):
        if label := LABEL.match(line):
            labels[label[1]] = place
            asked, last = {}, ""
        elif not is_plain:
            continue
        elif (down := _DOWN.match(line)) and down[1] == down[2] and int(down[3]) > 1:
            counts[down[1]] = place
        elif asks := _ASKS.match(line):
            asked[asks[1]] = asks[2]
        elif branch := _BRANCH.match(line):
            last = branch[1] or last  # a loop that goes out by a condition goes back by none
            begin = labels.get(branch[2], place)
            if begin < counts.get(asked.get(last, ""), -1) < place and _PRAGMA.strip() not in lines[begin + 1]:
                marked.add(begin)
    if not marked:
        return text
    changed = (part for place, line in enumerate(lines) for part in ((line, _PRAGMA) if place in marked else (line,)))
    return "\n".join(changed) + debug_info
