"""How large a block of C is: its accumulators stay in registers, beside a row of B and one broadcast element of A."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Blocking:
    """Blocks of C have ``rows`` rows and ``columns`` columns; the last ones may be smaller."""

    rows: int
    columns: int


def choose_blocking(m: int, n: int, lanes: int, registers: int) -> Blocking:
    """The blocks of an ``m`` x ``n`` matrix where ``lanes`` elements fit into one of ``registers`` registers.

    Two multiply-adds of four cycles may start per cycle, so that a block needs eight accumulators to hide the latency;
    more of them save loads. Beside them go a row of B, an element of A and what LLVM wants when it unrolls. Measured on
    Zen 4 with tiles of 16 to 256, blocks of 4x4, 8x2 and 16x1 vectors lead with 32 registers, 6x2 and 2x4 with 16.
    """
    vectors_needed = _ceil_div(n, lanes)
    if registers == 32:
        vectors = min(4, vectors_needed)
        rows = _even_share(m, 16 // vectors)
    else:
        rows = _even_share(m, 6)
        vectors = min(4 if rows <= 2 else 2, vectors_needed)
    return Blocking(rows, vectors * lanes)


def split_into_vectors(length: int, lanes: int) -> tuple[tuple[int, int], ...]:
    """``(first, lanes)`` of the vectors that cover ``length`` elements: whole registers, then powers of two."""
    vectors, first = [], 0
    while first < length:
        while lanes > length - first:
            lanes //= 2
        vectors.append((first, lanes))
        first += lanes
    return tuple(vectors)


def _even_share(length: int, most: int) -> int:
    """Nine rows in blocks of eight are 5 + 4, not 8 + 1: a block of one row waits for its own accumulators."""
    return _ceil_div(length, _ceil_div(length, most))


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)
