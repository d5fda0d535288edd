"""What crosses into a fragment: for each subject one kernel, its data, and what NumPy computes in float64.

A kernel calls ``FRAGMENT``, which each dialect writes in its own way (``dialects/``). Sizes are odd: the last program's
block is part of the data only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import triton
import triton.language as tl

BLOCK = 256
PROGRAMS = 3
SIZE = 709

Arrays = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """``types`` are those of the kernel's arguments; ``data`` makes the arguments, ``expected`` the written arrays."""

    kernel: Any
    types: dict[str, str]
    data: Callable[[np.random.Generator], Arrays]
    expected: Callable[..., Arrays]
    constants: dict[str, int] = field(default_factory=lambda: {"B": BLOCK})
    tolerance: float = 1e-6


def _floats(random: np.random.Generator) -> np.ndarray:
    return random.standard_normal(SIZE).astype(np.float32)


@triton.jit
def tile_kernel(x, y, n, FRAGMENT: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, FRAGMENT(tl.load(x + i, mask=i < n, other=0.0)), mask=i < n)


def _running_sums(x: np.ndarray, **_: Any) -> Arrays:
    blocks = np.pad(x.astype(np.float64), (0, PROGRAMS * BLOCK - SIZE)).reshape(PROGRAMS, BLOCK)
    return {"y": blocks.cumsum(axis=1).reshape(-1)[:SIZE]}


@triton.jit
def scalar_kernel(x, y, s, k, n, FRAGMENT: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, FRAGMENT(tl.load(x + i, mask=i < n, other=0.0), s, k), mask=i < n)


@triton.jit
def element_kernel(x, w, y, n, FRAGMENT: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    y_at_i = FRAGMENT(tl.load(x + i, mask=i < n, other=0.0), tl.load(w + i, mask=i < n, other=0.0))
    tl.store(y + i, y_at_i, mask=i < n)


@triton.jit
def pointer_kernel(x, y, n, FRAGMENT: tl.constexpr, B: tl.constexpr):
    """Each program has B elements of a pointer's memory, the last one what is left."""
    at = tl.program_id(0) * B
    FRAGMENT(x + at, y + at, tl.minimum(n - at, B))


@triton.jit
def results_kernel(x, y, signs, n, FRAGMENT: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    doubled, sign = FRAGMENT(tl.load(x + i, mask=i < n, other=0.0))
    tl.store(y + i, doubled, mask=i < n)
    tl.store(signs + i, sign, mask=i < n)


def _given(*names: str, **more: Any) -> Callable[[np.random.Generator], Arrays]:
    def data(random: np.random.Generator) -> Arrays:
        made: Arrays = {name: _floats(random) for name in names}
        return {**made, **{k: v.copy() if isinstance(v, np.ndarray) else v for k, v in more.items()}, "n": SIZE}

    return data


def _unwritten(dtype: type = np.float32) -> np.ndarray:
    return np.full(SIZE, 77, dtype)


FLOATS = {"x": "*fp32", "y": "*fp32"}

SUBJECTS = {
    # Every element depends on all before it: rows that cross in another order give other numbers.
    "tile": Subject(
        tile_kernel, {**FLOATS, "n": "i32"}, _given("x", y=_unwritten()), _running_sums, tolerance=2e-5
    ),
    "scalar": Subject(
        scalar_kernel,
        {**FLOATS, "s": "fp32", "k": "i32", "n": "i32"},
        _given("x", y=_unwritten(), s=-1.75, k=41),
        lambda x, s, k, **_: {"y": x.astype(np.float64) * s + k},
    ),
    "element": Subject(
        element_kernel,
        {"x": "*fp32", "w": "*fp32", "y": "*fp32", "n": "i32"},
        _given("x", "w", y=_unwritten()),
        lambda x, w, **_: {"y": x.astype(np.float64) * w - 3.0 * x},
    ),
    "pointer": Subject(
        pointer_kernel,
        {**FLOATS, "n": "i32"},
        _given("x", y=_unwritten()),
        lambda x, **_: {"y": x.astype(np.float64) * 0.5 + 1.0},
    ),
    "results": Subject(
        results_kernel,
        {**FLOATS, "signs": "*i32", "n": "i32"},
        _given("x", y=_unwritten(), signs=_unwritten(np.int32)),
        lambda x, **_: {"y": 2.0 * x.astype(np.float64), "signs": np.where(x > 0, 1, -1)},
    ),
}  # fmt: skip


@triton.jit
def integers_kernel(x, w, y, n, FRAGMENT: tl.constexpr, B: tl.constexpr):
    """The call of ``element`` with a block of another dtype."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.int64)
    tl.store(y + i, FRAGMENT(v, tl.load(w + i, mask=i < n, other=0.0)), mask=i < n)


@triton.jit
def integer_tile_kernel(x, w, y, n, FRAGMENT: tl.constexpr, B: tl.constexpr):
    """The call of ``tile`` with a block of another dtype."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.int64)
    tl.store(y + i, FRAGMENT(v), mask=i < n)


ELEMENT_CALL = "FRAGMENT(tl.load(x + i"
