"""Loops end in a branch back to their begin, in PTX, as nvcc writes them.

LLVM compares for the end of a loop, jumps out by the result, and back by a second branch. ptxas does not count the
turns of such a loop, and leaves it as it is; where the comparison is for one more turn, ptxas unrolls the loop. One of
four loads becomes one of sixteen (12.8, sm_90). A module asks for it by ``LIKE_NVCC``.

What it pays was not measured alone. ``samples/benchmarks/region_against_cuda.py`` measures regions, with all passes,
against kernels that nvcc compiled. ``TLE_RAW_DISABLE_PASSES=branch-back`` compiles without it.
"""

from __future__ import annotations

import re
from collections import Counter

from tle_raw.linker.ptx.code_lines import has_one_function

LIKE_NVCC = "!tle.like.nvcc"  # metadata in the LLVM IR of a fragment
_PAIRS = (("eq", "ne"), ("lt", "ge"), ("le", "gt"), ("lo", "hs"), ("ls", "hi"))
_OPPOSITE = {**dict(_PAIRS), **{one: other for other, one in _PAIRS}}
_SILENT = r"(?:[ \t]*(?:\.loc\b|//)[^\n]*\n|\$L__tmp\d+:[^\n]*\n|[ \t]*\n)*"
# Comparisons of floats have no opposite: neither holds for what is no number.
_END = re.compile(
    rf"(?P<lead>[ \t]*setp\.)(?P<comparison>{'|'.join(_OPPOSITE)})(?P<rest>\.[bsu](?:16|32|64)[ \t]+"
    rf"(?P<predicate>%p\d+), [^;]*;\n{_SILENT}[ \t]*@)(?P=predicate) bra[ \t]+(?P<out>\$L\w+);\n"
    rf"(?P<between>{_SILENT}[ \t]*)bra(?:\.uni)?[ \t]+(?P<back>\$L\w+);"
)
_PREDICATE = re.compile(r"%p\d+\b")


def branch_back(text: str) -> str:
    """The PTX with such ends the other way round, where nothing else asks for the comparison's result."""
    if not has_one_function(text):
        return text
    uses = Counter(_PREDICATE.findall(text))
    begins = {match[1]: match.start() for match in re.finditer(r"^(\$L\w+):", text, re.MULTILINE)}

    def turned(end: re.Match[str]) -> str:
        predicate = end["predicate"]
        is_loop = begins.get(end["back"], len(text)) < end.start() < begins.get(end["out"], 0)
        if uses[predicate] != 2 or not is_loop:
            return end[0]
        comparison = _OPPOSITE[end["comparison"]]
        return (
            f"{end['lead']}{comparison}{end['rest']}{predicate} bra \t{end['back']};\n"
            f"{end['between']}bra.uni \t{end['out']};"
        )

    return _END.sub(turned, text)
