"""Tutorial 04, dropout: the mask is never stored, a seed brings it back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl

sys.path.insert(0, str(Path(__file__).parent))
import arrays


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < n
    x = tl.load(x_ptr + index, mask=inside)
    kept = tl.rand(seed, index) > p
    tl.store(out_ptr + index, tl.where(kept, x / (1 - p), 0.0), mask=inside)


def dropout(x: Any, p: float, seed: int, block: int = 1024) -> Any:
    out = arrays.empty(x.shape, x)
    n = x.shape[0]
    dropout_kernel[(triton.cdiv(n, block),)](x, out, n, p, seed, BLOCK=block)
    return out


def uniform(seed: int, n: int) -> np.ndarray:
    """What ``tl.rand`` draws for the offsets 0 to n - 1: the first word of Philox 4x32, 10 rounds, as a float32."""
    word = np.uint64(0xFFFFFFFF)
    c = [np.arange(n, dtype=np.uint64), *(np.zeros(n, np.uint64) for _ in range(3))]
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32 & 0xFFFFFFFF)]
    for _ in range(10):
        even, odd = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [odd >> np.uint64(32) ^ c[1] ^ key[0], odd & word, even >> np.uint64(32) ^ c[3] ^ key[1], even & word]
        key = [(key[0] + np.uint64(0x9E3779B9)) & word, (key[1] + np.uint64(0xBB67AE85)) & word]
    bits = c[0].astype(np.uint32).view(np.int32)
    return np.where(bits < 0, -bits - 1, bits).astype(np.float32) * np.float32(4.6566127342e-10)


def reference(x: Any, p: float, seed: int) -> np.ndarray:
    x = arrays.double(x)
    return np.where(uniform(seed, x.size) > np.float32(p), x / (1 - p), 0.0)


def check():
    import torch

    for n, p, seed in ((10, 0.5, 123), (4099, 0.1, 2**31 - 1), (100_000, 0.9, 5 << 32 | 7)):
        x = torch.randn(n, device=arrays.device())
        yield (
            f"n = {n}, p = {p}, seed = {seed}",
            arrays.largest_share(dropout(x, p, seed), reference(x, p, seed), 1e-6, 1e-9),
        )


if __name__ == "__main__":
    sys.exit(arrays.main("04 dropout", check))
