"""Elements are applied to blocks of different shapes as Triton's own operators are."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.contracts.running import DIALECTS, SEED, dialect
from tests.contracts.unsupported import UNSUPPORTED

# TileLang's block tensors have the shapes of its buffers.
APPLIED_TO_ELEMENTS = [name for name in DIALECTS if name != "tilelang" and (name, "element") not in UNSUPPORTED]


@triton.jit
def row_and_column(x, w, y, FRAGMENT: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(y + i * N + j, FRAGMENT(tl.load(x + i), tl.load(w + j)))


@pytest.mark.parametrize("name", APPLIED_TO_ELEMENTS)
@pytest.mark.every_triton(3)
def test_a_column_meets_a_row(name):
    random = np.random.default_rng(SEED)
    x, w = (random.standard_normal(n).astype(np.float32) for n in (8, 32))
    y = np.zeros((8, 32), np.float32)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        row_and_column[(1,)](x, w, y, FRAGMENT=dialect(name).SUBJECTS["element"], M=8, N=32)
    wide = x.astype(np.float64)[:, None]
    np.testing.assert_allclose(y, wide * w - 3.0 * wide, 1e-6, 1e-5)
