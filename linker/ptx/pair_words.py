"""Puts the two words of a shared-memory descriptor side by side, in PTX with warpgroup products.

A descriptor is an address in the low word and constants in the high one. LLVM writes it as a number of 64 bits:
``cvt.u64.u32`` and ``or.b64`` with a constant. ptxas finds the words again, but it plans the loop around the products
by what was written: attention takes 3 to 7 % longer than from ``mov.b64 %rd, {%low, %high}``, as nvcc writes it.

Measured on an H200 with ``samples/benchmarks/tilelang_regions.py``, attention by TileLang with and without this pass
(commit ffae238: 7 % less time). ``TLE_RAW_DISABLE_PASSES=pair-words`` compiles without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PRODUCT, _WIDENED = "wgmma.mma_async", "cvt.u64.u32"
_SILENT = r"(?:[ \t]*(?:\.loc\b|//)[^\n]*\n|\$L__tmp\d+:[^\n]*\n|[ \t]*\n)*"
_PAIR = re.compile(
    rf"^(?P<lead>[ \t]*)cvt\.u64\.u32[ \t]+(?P<wide>%rd\d+), (?P<low>%r\d+);\n"
    rf"(?P<between>{_SILENT})"
    r"[ \t]*or\.b64[ \t]+(?P<result>%rd\d+), (?P=wide), (?P<constant>-?\d+);",
    re.MULTILINE,
)
_WIDE = re.compile(r"%rd\d+\b")
_WORD = 0xFFFFFFFF
# ptxas holds both words of each descriptor that a loop does not change. MLA's 80 do not fit, GEMM's 12 and attention's
# 24 do.
_MOST = 32


def pair_words(text: str) -> str:
    """The PTX with such numbers, if they are few, put together from words; as far as nothing else reads the address."""
    if _PRODUCT not in text or _WIDENED not in text or not 0 < len(found := list(_pairs(text))) <= _MOST:
        return text
    uses: dict[str, int] = {}
    for name in _WIDE.findall(text):
        uses[name] = uses.get(name, 0) + 1

    def paired(pair: re.Match[str]) -> str:
        constant = int(pair["constant"])
        low, high = constant & _WORD, constant >> 32 & _WORD
        if not high or uses[pair["wide"]] != 2:
            return pair[0]
        address, joined = pair["low"], ""
        if low:
            address, joined = "low", f"or.b32 low, {pair['low']}, {low}; "
        words = (
            f"{{ .reg .b32 low, high; {joined}mov.b32 high, {high}; mov.b64 {pair['result']}, {{{address}, high}}; }}"
        )
        return f"{pair['between']}{pair['lead']}{words}"

    parts, end = [], 0
    for pair in found:
        parts += [text[end : pair.start()], paired(pair)]
        end = pair.end()
    return "".join((*parts, text[end:]))


def _pairs(text: str) -> Iterator[re.Match[str]]:
    """All of them, none of which begins within another."""
    place = text.find(_WIDENED)
    while place >= 0:
        pair = _PAIR.match(text, text.rfind("\n", 0, place) + 1)
        if pair:
            yield pair
        place = text.find(_WIDENED, pair.end() if pair else place + 1)
