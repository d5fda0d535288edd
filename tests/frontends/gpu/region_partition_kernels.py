"""The subjects of the contracts in partitions: three of 4, 1 and 2 warps call one fragment at the same time.

One program has the three blocks of a subject's data, the last of which is not full.
"""

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def tile_part(x, y, n, at, FRAGMENT: tl.constexpr, B: tl.constexpr):
    i = at + tl.arange(0, B)
    tl.store(y + i, FRAGMENT(tl.load(x + i, mask=i < n, other=0.0)), mask=i < n)


@triton.jit
def tile(x, y, n, FRAGMENT: tl.constexpr, B: tl.constexpr):
    tle.gpu.warp_specialize(
        [
            (tile_part, (x, y, n, 0, FRAGMENT, B)),
            (tile_part, (x, y, n, B, FRAGMENT, B)),
            (tile_part, (x, y, n, 2 * B, FRAGMENT, B)),
        ],
        [1, 2],
    )


@triton.jit
def scalar_part(x, y, s, k, n, at, FRAGMENT: tl.constexpr, B: tl.constexpr):
    i = at + tl.arange(0, B)
    tl.store(y + i, FRAGMENT(tl.load(x + i, mask=i < n, other=0.0), s, k), mask=i < n)


@triton.jit
def scalar(x, y, s, k, n, FRAGMENT: tl.constexpr, B: tl.constexpr):
    tle.gpu.warp_specialize(
        [
            (scalar_part, (x, y, s, k, n, 0, FRAGMENT, B)),
            (scalar_part, (x, y, s, k, n, B, FRAGMENT, B)),
            (scalar_part, (x, y, s, k, n, 2 * B, FRAGMENT, B)),
        ],
        [1, 2],
    )


@triton.jit
def element_part(x, w, y, n, at, FRAGMENT: tl.constexpr, B: tl.constexpr):
    i = at + tl.arange(0, B)
    y_at_i = FRAGMENT(tl.load(x + i, mask=i < n, other=0.0), tl.load(w + i, mask=i < n, other=0.0))
    tl.store(y + i, y_at_i, mask=i < n)


@triton.jit
def element(x, w, y, n, FRAGMENT: tl.constexpr, B: tl.constexpr):
    tle.gpu.warp_specialize(
        [
            (element_part, (x, w, y, n, 0, FRAGMENT, B)),
            (element_part, (x, w, y, n, B, FRAGMENT, B)),
            (element_part, (x, w, y, n, 2 * B, FRAGMENT, B)),
        ],
        [1, 2],
    )


@triton.jit
def pointer_part(x, y, n, at, FRAGMENT: tl.constexpr, B: tl.constexpr):
    FRAGMENT(x + at, y + at, tl.minimum(n - at, B))


@triton.jit
def pointer(x, y, n, FRAGMENT: tl.constexpr, B: tl.constexpr):
    tle.gpu.warp_specialize(
        [
            (pointer_part, (x, y, n, 0, FRAGMENT, B)),
            (pointer_part, (x, y, n, B, FRAGMENT, B)),
            (pointer_part, (x, y, n, 2 * B, FRAGMENT, B)),
        ],
        [1, 2],
    )


@triton.jit
def results_part(x, y, signs, n, at, FRAGMENT: tl.constexpr, B: tl.constexpr):
    i = at + tl.arange(0, B)
    doubled, sign = FRAGMENT(tl.load(x + i, mask=i < n, other=0.0))
    tl.store(y + i, doubled, mask=i < n)
    tl.store(signs + i, sign, mask=i < n)


@triton.jit
def results(x, y, signs, n, FRAGMENT: tl.constexpr, B: tl.constexpr):
    tle.gpu.warp_specialize(
        [
            (results_part, (x, y, signs, n, 0, FRAGMENT, B)),
            (results_part, (x, y, signs, n, B, FRAGMENT, B)),
            (results_part, (x, y, signs, n, 2 * B, FRAGMENT, B)),
        ],
        [1, 2],
    )


KERNELS = {"tile": tile, "scalar": scalar, "element": element, "pointer": pointer, "results": results}
