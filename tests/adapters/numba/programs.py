"""Functions and kernels of numba.cuda, and the Triton kernels that call them."""

import math

import triton
import triton.language as tl
from numba import cuda, float32

import tle_raw

SLOPE = 0.25


@cuda.jit(device=True)
def leaky(x):
    return x if x > 0 else x * float32(SLOPE)


@cuda.jit(device=True)
def wave(x, y):
    return float32(math.sin(leaky(x)) + math.exp(-y))


@cuda.jit(device=True)
def is_between(x, low, high):
    return low < x < high


@cuda.jit(device=True)
def half_of(x):
    return x


@cuda.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i >= x.size:
        return
    x[i] = x[i] * factor


@cuda.jit
def block_sums(x, out):
    shared = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    shared[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    n = 64
    while n > 0:
        if t < n:
            shared[t] += shared[t + n]
        cuda.syncthreads()
        n //= 2
    if t == 0:
        out[cuda.blockIdx.x] = shared[0]


@cuda.jit
def warp_sums(x, out, votes):
    v = x[cuda.grid(1)]
    some = cuda.ballot_sync(0xFFFFFFFF, v > 0)
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_xor_sync(0xFFFFFFFF, v, step)
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, v)
        votes[cuda.grid(1) // 32] = cuda.popc(some)


@cuda.jit
def transpose(x, y):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        y[j, i] = x[i, j]


@cuda.jit
def counts(x, n, out):
    i = cuda.grid(1)
    if i < n:
        out[i] = cuda.popc(x[i]) + x[i] // 3 + x[i] % 5


elementwise = tle_raw.fragment(wave, types="float32(float32, float32)")
between = tle_raw.fragment(is_between, types="boolean(float32, float32, float32)")
copied = tle_raw.fragment(half_of, types="float16(float16)")
scaled = tle_raw.fragment(scale, types="void(float32[::1], float32)")
summed = tle_raw.fragment(block_sums, types="void(float32[::1], float32[::1])")
warps = tle_raw.fragment(warp_sums, types="void(float32[::1], float32[::1], int32[::1])")
turned = tle_raw.fragment(transpose, types="void(float64[:, ::1], float64[:, ::1])")
counted = tle_raw.fragment(counts, types="void(CPointer(int32), int32, CPointer(int64))")


@triton.jit
def wave_kernel(x, z, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(z + i, elementwise(v, v * 2))


@triton.jit
def between_kernel(x, z, h, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(z + i, between(v, -0.5, 0.5).to(tl.int8))
    tl.store(h + i, copied(tl.load(h + i) * 2))


@triton.jit
def scale_kernel(x, n: "i64"):
    scaled(x, n, 2.0)
    tl.store(x + n, 7.0)
