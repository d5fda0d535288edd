"""Short ways around a few loads and what is made of them stay branches, in PTX.

``if (k == next_group) { zeros = …; scales = …; }`` in a loop is taken now and then. ptxas makes predicates of such a
block, and each turn then goes through all of it, and of several in a row one waits for its loads before the next one
begins its own. nvcc's code keeps the branch. ptxas makes no predicates of a block with an instruction that it takes for
an effect: ``pmevent``, which tells a profiler's counter and is one cycle, in a block that is taken.

Meant are blocks of ten to forty instructions that one branch goes around, with two loads of global memory or more, of
which something is computed there. Blocks that only load are better off as predicates, since all their loads are under
way at a time, and so are those of a few instructions, which cost less than the branch; ptxas makes none of long ones.

What it pays says samples/benchmarks/RESULTS.md; ``TLE_RAW_DISABLE_PASSES=keep-branches`` compiles without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tle_raw.linker.ptx.code_lines import LABEL, REGISTER, instructions, without_debug_info

_AROUND = re.compile(r"@!?%p\d+\s+bra\s+(\$L__BB\w+);")
_TO = re.compile(r"bra(?:\.uni)?\s+(\$L__BB\w+);")
# What ends a block, or keeps ptxas from making predicates of it anyway.
_ENDS = re.compile(r"(?:@!?%p\d+\s+)?(?:bra|brx|ret|exit|trap|call|bar|barrier|atom|red|membar|fence|pmevent)\b")
_LOAD = re.compile(r"ld\.global\S*\s+(\{[^}]*\}|%\w+),")
_NO_COMPUTATION = ("mov.", "st.")
_LEAST_LOADS, _SHORTEST, _LONGEST = 2, 10, 40
_EFFECT = "\tpmevent \t0;"


def keep_branches(text: str) -> str:
    """The PTX with such an instruction at the begin of each of these blocks."""
    if "ld.global" not in text:
        return text
    lines, debug_info = without_debug_info(text)
    code = list(instructions(lines))
    begins = set(_begins(code))
    if not begins:
        return text
    changed = [part for place, line in enumerate(lines) for part in ([_EFFECT, line] if place in begins else [line])]
    return "\n".join(changed) + debug_info


def _begins(code: list[tuple[str, bool]]) -> Iterator[int]:
    """The first line of each block that is meant."""
    for place, (line, is_plain) in enumerate(code):
        around = _AROUND.match(line) if is_plain else None
        if around and _is_meant(code, place + 1, around[1]):
            yield place + 1


def _is_meant(code: list[tuple[str, bool]], begin: int, target: str) -> bool:
    """Whether the block that begins here is one; the branch in front of it goes to the ``target``."""
    loaded, count, loads, computes = set[str](), 0, 0, False
    for line, is_plain in code[begin:]:
        is_meant = loads >= _LEAST_LOADS and computes and count >= _SHORTEST
        if label := LABEL.match(line):
            return label[1] == target and is_meant
        if is_plain and _ENDS.match(line):
            to = _TO.match(line)
            return to is not None and to[1] == target and is_meant
        if not line or line.startswith(("//", ".", "$")):
            continue
        count += 1
        load = _LOAD.match(line) if is_plain else None
        if load:
            loads += 1
            loaded.update(REGISTER.findall(load[1]))
        elif not line.lstrip("{ ").startswith(_NO_COMPUTATION):  # of assembly each line counts
            computes |= not loaded.isdisjoint(REGISTER.findall(line.partition(",")[2]))
        if count > _LONGEST:
            return False
    return False
