"""Sample 06: Fourier transforms of powers of two. Between the steps a row is put in order in shared memory."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw.language as tle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@triton.constexpr_function
def radix(plan, step):
    """Of a plan with a hexadecimal digit for each step, the first step's last: the logarithm of its radix."""
    return 1 << (plan >> 4 * step & 15)


@triton.constexpr_function
def done(plan, step):
    """The length of the transforms that the steps before have made."""
    return math.prod(1 << (plan >> 4 * before & 15) for before in range(step))


@triton.constexpr_function
def turn(part, whole, of):
    """The real or imaginary part, ``of`` 0 or 1, of exp(-2 pi i part / whole)."""
    return (math.cos, math.sin)[of](-2 * math.pi * part / whole)


@triton.jit
def multiply(a, b, c, d):
    """(a + bi)(c + di)."""
    return a * c - b * d, a * d + b * c


@triton.jit
def transform(re, im, R: tl.constexpr):
    """The transform of R numbers that a thread holds, as two tuples."""
    if R > 1:
        H: tl.constexpr = R // 2
        even_re, even_im = transform(re[0::2], im[0::2], H)
        odd_re, odd_im = transform(re[1::2], im[1::2], H)
        re, im, high_re, high_im = (), (), (), ()
        for k in tl.static_range(H):
            c, d = multiply(odd_re[k], odd_im[k], turn(k, R, 0), turn(k, R, 1))
            re += (even_re[k] + c,)
            im += (even_im[k] + d,)
            high_re += (even_re[k] - c,)
            high_im += (even_im[k] - d,)
        re, im = re + high_re, im + high_im
    return re, im


@triton.jit
def step(x_ptr, y_ptr, w_ptr, re_row, im_row, N: tl.constexpr, PLAN: tl.constexpr, STEP: tl.constexpr):
    """From transforms of length L to such of length L R (Stockham): lane j holds elements j, j + N / R, ..."""
    R: tl.constexpr = radix(PLAN, STEP)
    L: tl.constexpr = done(PLAN, STEP)
    j = tl.arange(0, N // R)
    re, im = (), ()
    for r in tl.static_range(R):
        i = j + r * (N // R)
        if STEP == 0:
            a, b = tl.load(x_ptr + 2 * i), tl.load(x_ptr + 2 * i + 1)
        else:
            a, b = tl.load(tle.gpu.local_ptr(re_row, (i,))), tl.load(tle.gpu.local_ptr(im_row, (i,)))
            turned = j % L * (r * (N // (L * R)))
            a, b = multiply(a, b, tl.load(w_ptr + 2 * turned), tl.load(w_ptr + 2 * turned + 1))
        re += (a,)
        im += (b,)
    re, im = transform(re, im, R)
    for r in tl.static_range(R):
        i = j // L * (L * R) + j % L + r * L
        if L * R == N:
            tl.store(y_ptr + 2 * i, re[r])
            tl.store(y_ptr + 2 * i + 1, im[r])
        else:
            tl.store(tle.gpu.local_ptr(re_row, (i,)), re[r])
            tl.store(tle.gpu.local_ptr(im_row, (i,)), im[r])


@triton.jit
def fft(x_ptr, y_ptr, w_ptr, N: tl.constexpr, PLAN: tl.constexpr, STEPS: tl.constexpr):
    """Row ``program_id(0)`` of ``y`` is the transform of that of ``x``: N complex numbers, f32, as pairs.

    ``w[k]`` is exp(-2 pi i k / N). After each 32 elements of a row four are left out: elements that are 16 apart, as
    those of one step's stores, then lie in 16 banks instead of two.
    """
    x_ptr += tl.program_id(0).to(tl.int64) * 2 * N
    y_ptr += tl.program_id(0).to(tl.int64) * 2 * N
    re_row = tle.gpu.alloc([N], tl.float32, tle.gpu.padded_shared_layout([[32, 4]], [N]))
    im_row = tle.gpu.alloc([N], tl.float32, tle.gpu.padded_shared_layout([[32, 4]], [N]))
    for s in tl.static_range(STEPS):
        step(x_ptr, y_ptr, w_ptr, re_row, im_row, N, PLAN, s)


def plan_for(n):
    """The fewest steps of radix 16 at most, as equal as they can be."""
    bits = n.bit_length() - 1
    steps = max(1, -(-bits // 4))
    digits = [bits // steps + (s < bits % steps) for s in range(steps)]
    return sum(digit << 4 * s for s, digit in enumerate(digits)), steps


def launch(x):
    import torch

    rows, n = x.shape
    plan, steps = plan_for(n)
    w = torch.polar(torch.ones(n, dtype=torch.float64), -2 * math.pi / n * torch.arange(n, dtype=torch.float64))
    y = torch.empty_like(x)
    pairs = [torch.view_as_real(part) for part in (x, y, w.to(torch.complex64).to(x.device))]
    warps = min(8, max(1, n // 16 // 32))
    return fft[(rows,)](*pairs, N=n, PLAN=plan, STEPS=steps, num_warps=warps), y


def compile_for(target):
    types = dict.fromkeys(("x_ptr", "y_ptr", "w_ptr"), "*fp32")
    plan, steps = plan_for(4096)
    return [common.compile_ahead(fft, target, types, {"N": 4096, "PLAN": plan, "STEPS": steps}, num_warps=8)]


def check():
    import torch

    cases = common.sizes(
        gpu=((3, 2), (5, 8), (7, 64), (1000, 512), (4096, 4096), (33, 8192)), cpu=((3, 2), (2, 32), (2, 256))
    )
    for rows, n in cases:
        x = torch.randn(rows, n, dtype=torch.complex128).to(torch.complex64).to(common.device())
        kernel, y = launch(x)
        want = torch.fft.fft(x.to(torch.complex128))
        got, want = torch.view_as_real(y), torch.view_as_real(want)
        yield kernel, common.compare(f"{rows} rows of {n}", got, want, absolute=2e-6 * math.sqrt(n))


if __name__ == "__main__":
    sys.exit(common.main("06 Fourier transforms in shared memory", compile_for, check))
