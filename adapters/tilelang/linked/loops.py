"""Says which loops of TileLang's text are to be unrolled, where the text leaves it to the compiler.

Accumulators are arrays, and arrays live in registers only where every index is a constant: short loops are unrolled.
A loop over the pipeline's steps keeps its shape: unrolled, its copies would compete for registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tle_raw.adapters.cpp.tokens import Token

UNROLL, KEEP = '_Pragma("unroll") ', '_Pragma("nounroll") '
_LONGEST = 16
# Words of a loop whose rounds wait for one another.
_WAITS = ("__syncthreads", "cp_async_wait", "wait", "try_wait", "mbarrier_wait", "wait_wgmma", "sync_thread_partial")


def loop_pragmas(body: Sequence[Token], lead: Sequence[str]) -> Iterator[tuple[Token, str]]:
    """The ``for`` tokens that get a pragma, and which. ``lead`` is the text in front of each token of the body."""
    for index, token in enumerate(body):
        if token.text != "for" or "#pragma" in lead[index]:
            continue
        head_end = _closing(body, index + 1)
        if head_end is None:
            continue
        end = _closing(body, head_end + 1) or head_end
        words = {t.text for t in body[head_end:end] if t.is_word}
        if words.intersection(_WAITS):
            yield token, KEEP
        elif 0 < _rounds(body[index + 1 : head_end]) <= _LONGEST:
            yield token, UNROLL


def _closing(body: Sequence[Token], opening: int) -> int | None:
    """The bracket that closes the one at ``opening``; None where none opens there."""
    if opening >= len(body) or body[opening].text not in ("(", "{"):
        return None
    depth = 0
    for index in range(opening, len(body)):
        depth += (body[index].text in ("(", "{")) - (body[index].text in (")", "}"))
        if depth == 0:
            return index
    return None


def _rounds(head: Sequence[Token]) -> int:
    """How often ``(int i = 0; i < 8; ++i)`` goes round; 0 where that is no constant."""
    texts = [token.text for token in head]
    if len(texts) < 10 or texts[3:5] != ["=", "0"] or texts[7] != "<" or texts[9] != ";":
        return 0
    return int(texts[8]) if texts[8].isdecimal() else 0
