"""Program 06, MLA decode: one query of each head against latent keys; Triton rotates the query's positions on the way.

The attention is a TileLang kernel in another file, unedited. ``tiles=["Q_pe"]`` replaces its copy of the part of the
query that carries the position: Triton loads it, turns it by the token's angle and hands it over in registers. The
rotated query is in no memory, and there is no launch for it.
"""

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

common.require("tilelang", "tilelang")
mla_decode = common.load("benchmarks/tilelang_kernels.py").mla_decode

ROWS, COLUMNS = 64, 32


@triton.jit
def rotate(x, cosine, sine, ROWS: tl.constexpr, EXTRA: tl.constexpr):
    """Turn each pair of neighbours by its angle."""
    even, odd = tl.split(tl.reshape(x.to(tl.float32), (ROWS, EXTRA // 2, 2)))
    return tl.reshape(tl.join(even * cosine - odd * sine, odd * cosine + even * sine), (ROWS, EXTRA))


def kernel_of(batch, heads, length, dim, extra):
    """A Triton kernel for a cache of these sizes, which are in TileLang's kernel."""
    attend = tle_raw.fragment(
        mla_decode(batch, heads, length, dim, extra, tile=(ROWS, COLUMNS)), tiles=["Q_pe"], in_grid=True
    )

    @triton.jit
    def decode(
        q_ptr, q_pe_ptr, cosine_ptr, sine_ptr, kv_ptr, k_pe_ptr, out_ptr,
        HEADS: tl.constexpr, EXTRA: tl.constexpr, ROWS: tl.constexpr,
    ):  # fmt: skip
        head = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
        q_pe = tl.load(q_pe_ptr + (tl.program_id(1) * HEADS + head) * EXTRA + tl.arange(0, EXTRA)[None, :])
        angle = tl.program_id(1) * (EXTRA // 2) + tl.arange(0, EXTRA // 2)[None, :]
        turned = rotate(q_pe, tl.load(cosine_ptr + angle), tl.load(sine_ptr + angle), ROWS, EXTRA)
        attend(q_ptr, turned.to(tl.float16), kv_ptr, k_pe_ptr, out_ptr)

    return decode


def constants(heads, extra):
    return {"HEADS": heads, "EXTRA": extra, "ROWS": ROWS}


def compile_for(target):
    types = dict.fromkeys(("q_ptr", "q_pe_ptr", "kv_ptr", "k_pe_ptr", "out_ptr"), "*fp16")
    types |= dict.fromkeys(("cosine_ptr", "sine_ptr"), "*fp32")
    kernel = kernel_of(batch=64, heads=128, length=4096, dim=512, extra=64)
    return [common.compile_ahead(kernel, target, types, constants(128, 64), num_warps=8)]


def reference(q, q_pe, cosine, sine, kv, k_pe):
    """In float64, but for the rotated query, which is rounded to half on its way."""
    import torch

    cosine, sine = cosine.double()[:, None], sine.double()[:, None]
    even, odd = q_pe.double()[..., ::2], q_pe.double()[..., 1::2]
    turned = torch.stack([even * cosine - odd * sine, odd * cosine + even * sine], dim=3).flatten(2).half().double()
    latent = kv.double()[:, :, 0]
    scores = (q.double() @ latent.mT + turned @ k_pe.double()[:, :, 0].mT) * (q.shape[2] + q_pe.shape[2]) ** -0.5
    return scores.softmax(2) @ latent


def check():
    import torch

    device = common.device()
    sizes = ((2, 64, 100, 128, 32), (16, 128, 2048, 512, 64))
    for batch, heads, length, dim, extra in common.sizes(gpu=sizes, cpu=((1, 64, 50, 64, 32),), watched=sizes[:1]):
        q, q_pe = (torch.randn(batch, heads, n, device=device).half() for n in (dim, extra))
        kv, k_pe = (torch.randn(batch, length, 1, n, device=device).half() for n in (dim, extra))
        angle = torch.rand(batch, 1, device=device) * 10000 ** -torch.linspace(-1, 1, extra // 2, device=device)
        cosine, sine = angle.cos(), angle.sin()
        out = torch.empty_like(q)
        arrays = (q, q_pe, cosine, sine, kv, k_pe)
        decode = kernel_of(batch, heads, length, dim, extra)
        compiled = decode[heads // ROWS, batch](*arrays, out, **constants(heads, extra), num_warps=8)
        want = reference(*arrays)
        # The weights and the result are rounded to half.
        what = f"{batch} × {heads} heads, {length} keys of {dim} + {extra}"
        yield compiled, common.compare(what, out, want, relative=2**-10, absolute=2e-3)


if __name__ == "__main__":
    sys.exit(common.main("06 MLA decode in TileLang, its query rotated by Triton", compile_for, check))
