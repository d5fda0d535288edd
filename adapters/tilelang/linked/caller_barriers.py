"""Edits of TileLang's text that put barriers of the caller in the place of those that the kernel makes.

TileLang writes, at the beginning of a kernel with a barrier ``full``::

    __shared__ __align__(16) uint64_t full_mem[1];
    auto full = reinterpret_cast<Barrier*>(full_mem);
    if (tl::tl_shuffle_elect<0>()) {
      full[0].init(1);
    }
    tl::fence_barrier_init();
    __syncthreads();

The memory becomes a parameter, and the caller's barrier has begun already. Where no other barrier is left, nobody has
to wait for their beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tle_raw.adapters.cpp.tokens import Token
from tle_raw.errors import UnsupportedFeatureError

_ELECT, _FENCE, _SYNC = "tl_shuffle_elect", "fence_barrier_init", "__syncthreads"


@dataclass(frozen=True)
class Span:
    """Tokens ``first`` to ``last`` of a body, and the text that takes their place."""

    first: int
    last: int
    text: str = ""


def parameter(name: str) -> str:
    """The parameter of the device function that holds a barrier's address."""
    return f"tle_raw_barrier_{name}"


def memory(name: str) -> str:
    """TileLang's name of a barrier's memory."""
    return f"{name}_mem"


def caller_barriers(body: Sequence[Token], names: Sequence[str]) -> Iterator[Span]:
    """The edits of a kernel's body, for barriers of these names.

    Raises
    ------
    UnsupportedFeatureError : TileLang's text has another form.
    """
    if not names:
        return
    texts = [token.text for token in body]
    for name in names:
        first = _memory_of(texts, name)
        yield Span(first, _end(texts, first), f"uint64_t* const {memory(name)} = {parameter(name)};")
    begun = {at: texts[at - 5] for at in range(5, len(texts)) if texts[at - 1 : at + 2] == [".", "init", "("]}
    others = [at for at, name in begun.items() if name not in names]
    if others:
        for at in begun.keys() - set(others):
            yield Span(at - 5, _end(texts, at))
        return
    elect = next((at for at in range(min(begun, default=0), -1, -1) if texts[at] == _ELECT), -1)
    fence = next((at for at in range(max(elect, 0), len(texts)) if texts[at] == _FENCE), -1)
    sync = next((at for at in range(max(fence, 0), len(texts)) if texts[at] == _SYNC), -1)
    if elect < 0 or not elect < fence < sync:
        raise _unknown(names[0])
    start = next(at for at in range(elect, -1, -1) if texts[at] == "if")
    yield Span(start, _end(texts, sync))


def _memory_of(texts: Sequence[str], name: str) -> int:
    """Where the statement begins that takes the memory of a barrier."""
    for at in range(1, len(texts) - 3):
        if texts[at] == memory(name) and texts[at - 1] == "uint64_t" and texts[at + 1 : at + 4 : 2] == ["[", "]"]:
            first = next((i for i in range(at, -1, -1) if texts[i] in (";", "{", "}")), -1) + 1
            if texts[first] == "__shared__":
                return first
    raise _unknown(name)


def _end(texts: Sequence[str], start: int) -> int:
    return next(at for at in range(start, len(texts)) if texts[at] == ";")


def _unknown(name: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"TileLang begins the barrier `{name}` in a form that this release does not know",
        hint="report this with the PrimFunc and the version of TileLang",
    )
