"""Inline assembly that a thread runs for itself is not convergent, in LLVM IR that is not optimised yet.

clang marks all inline assembly of CUDA as if the threads of a warp had to run it together, and CUDA's headers write
conversions and arithmetic of halves as assembly. LLVM does not unroll a loop with such code whose turns are counted at
run time. nvcc knows what its assembly does. What warps run together, shuffles, votes, barriers and matrix instructions,
keeps its mark, and so does everything that cannot be told from these by its text.
"""

from __future__ import annotations

import re

# A call of inline assembly that has no operand bundles, and the number of its attributes.
_ASSEMBLY = re.compile(r'^( .*\bcall [^"]*\basm (?:\w+ )*"([^"]*)", "[^"]*"\(.*\) #)(\d+)(?=,|$)', re.MULTILINE)
_ATTRIBUTES = re.compile(r"^attributes #(\d+) = \{(.*)\}$", re.MULTILINE)
_ESCAPE = re.compile(r"\\[0-9A-Fa-f]{2}")
TOGETHER = re.compile(r"\.sync|\.aligned|barrier|\b(?:bar|shfl|vote|match|redux|activemask|elect|exit|call)\b")
_MARK = "convergent"


def without_warps(text: str) -> str:
    """The module with the mark left out at the calls of such assembly."""
    marked = {number: words for number, words in _ATTRIBUTES.findall(text) if _MARK in words.split()}
    if " asm " not in text or not marked:
        return text
    first = 1 + max(int(number) for number, _ in _ATTRIBUTES.findall(text))
    plain = {number: str(first + place) for place, number in enumerate(marked)}

    def unmarked(call: re.Match[str]) -> str:
        head, assembly, number = call.groups()
        is_threads = number in marked and not TOGETHER.search(_ESCAPE.sub(" ", assembly))
        return head + (plain[number] if is_threads else number)

    groups = (
        f"attributes #{plain[number]} = {{ {' '.join(word for word in words.split() if word != _MARK)} }}"
        for number, words in marked.items()
    )
    return "\n".join((_ASSEMBLY.sub(unmarked, text).rstrip("\n"), *groups, ""))
