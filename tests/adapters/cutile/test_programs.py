"""The programs of ``programs`` on the CPU against float64, and as machine code."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tle_raw
from tests.adapters.cutile import programs

pytestmark = pytest.mark.every_triton(1)

DEVICE = "cpu"  # the GPU tests set it


def placed(values):
    return values.to(DEVICE)


def tensor(*shape, dtype=torch.float32, seed=0):
    return placed(torch.from_numpy(np.random.default_rng(seed).uniform(-1, 1, shape)).to(dtype))


def zeros(*shape, dtype=torch.float32):
    return torch.zeros(*shape, dtype=dtype, device=DEVICE)


def full(shape, value, dtype):
    return torch.full(shape, value, dtype=dtype, device=DEVICE)


def launch(kernel, grid, *arguments, **options):
    return tle_raw.fragment(kernel, **options).as_kernel()[grid](*arguments)


def close(got, wanted, tolerance=1e-5):
    torch.testing.assert_close(got.double(), wanted.double(), rtol=tolerance, atol=tolerance * 10)


def test_vector_add():
    a, b, c = tensor(1000), tensor(1000, seed=1), zeros(1000)
    launch(programs.vector_add, 8, a, b, c, 128)
    assert torch.equal(c, a + b)


def test_vector_add_by_indices():
    a, b, c = tensor(5, 100), tensor(5, 100, seed=1), zeros(5, 100)
    launch(programs.vector_add_by_indices, (3, 2), a, b, c, 64)
    assert torch.equal(c, a + b)


def test_batched_matmul():
    a, b = tensor(3, 50, 40, dtype=torch.float16), tensor(3, 40, 30, dtype=torch.float16, seed=1)
    c = zeros(3, 50, 30)
    launch(programs.batched_matmul, (3, 2, 1), a, b, c, 32, 32, 16)
    close(c, a.double() @ b.double())


def test_persistent_matmul():
    a, b, c = tensor(100, 70), tensor(70, 90, seed=1), zeros(100, 90)
    launch(programs.persistent_matmul, 5, a, b, c, 16, 32, 32, 4)
    close(c, a.double() @ b.double())


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal, group=1):
    q = tensor(4, 70, 32)
    k, v = (tensor(4 // group, 70, 32, seed=i) for i in (1, 2))
    out = zeros(4, 70, 32)
    launch(programs.attention, (3, 4), q, k, v, out, 32**-0.5, 32, 16, 32, causal, group)
    k, v = (t.repeat_interleave(group, 0).double() for t in (k, v))
    close(out, torch.nn.functional.scaled_dot_product_attention(q.double(), k, v, is_causal=causal))


def test_attention_of_grouped_queries():
    test_attention(True, group=2)


def test_layer_norm_and_its_gradients():
    x, w, b, dy = tensor(12, 100), tensor(100, seed=1), tensor(100, seed=2), tensor(12, 100, seed=3)
    y, mean, rstd = zeros(12, 100), zeros(12), zeros(12)
    launch(programs.layer_norm, 12, x, w, b, y, mean, rstd, 1e-5, 32)
    a, ww, bb = (t.double().requires_grad_() for t in (x, w, b))
    wanted = torch.nn.functional.layer_norm(a, (100,), ww, bb, 1e-5)
    close(y, wanted.detach())
    dx, dw, db = zeros(12, 100), zeros(4, 100), zeros(4, 100)
    locks = zeros(4, dtype=torch.int32)
    launch(programs.layer_norm_gradients, 12, dy, x, w, mean, rstd, dx, dw, db, locks, 4, 128)
    wanted.backward(dy.double())
    close(dx, a.grad)
    final_dw, final_db = zeros(100), zeros(100)
    launch(programs.sum_partial_gradients, 4, dw, db, final_dw, final_db, 2, 32)
    added_dw, added_db = zeros(100), zeros(100)
    launch(programs.layer_norm_gradients_by_atomics, (3, 4), dy, x, mean, rstd, added_dw, added_db, 4, 32)
    for got_w, got_b in ((final_dw, final_db), (added_dw, added_db)):
        close(got_w, ww.grad)
        close(got_b, bb.grad)


def test_mixture_of_experts():
    """Each token has two experts: their rows are counted and put in order, in blocks of one expert, and multiplied."""
    experts, tokens, depth, width, block, top = 5, 45, 48, 40, 16, 2
    rows = tokens * top
    rng = np.random.default_rng(0)
    chosen = placed(torch.from_numpy(rng.integers(0, experts, rows, dtype="i4")))
    counts, starts, taken = (zeros(experts, dtype=torch.int32) for _ in range(3))
    launch(programs.count_experts, 2, chosen, counts, 64)
    assert torch.equal(counts.long(), torch.bincount(chosen, minlength=experts))
    launch(programs.align_experts, 1, counts, starts, 8, block)
    padded = (counts + block - 1) // block * block
    assert torch.equal(starts, (padded.cumsum(0) - padded).to(torch.int32))
    blocks = rows // block + experts  # enough for any choice
    order = full((blocks * block,), -1, dtype=torch.int32)
    expert_of_block = full((blocks,), -2, dtype=torch.int32)
    launch(programs.name_experts, blocks, counts, starts, expert_of_block, 8, block)
    wanted = torch.repeat_interleave(torch.arange(experts, device=DEVICE), padded.long() // block)
    assert torch.equal(expert_of_block[: len(wanted)].long(), wanted) and (expert_of_block[len(wanted) :] == -1).all()
    launch(programs.place_rows, 2, chosen, starts, taken, order, 64)
    assert torch.equal(taken, counts) and torch.equal(order[order >= 0].sort().values, torch.arange(rows).to(order))
    x, w, y = tensor(tokens, depth), tensor(experts, depth, width, seed=1), zeros(rows, width)
    shares = tensor(rows, seed=2)
    arguments = (x, order, expert_of_block, w, shares, y, top, block, 32, 16)
    launch(programs.grouped_gemm, (blocks, 2), *arguments)
    each = x.double().repeat_interleave(top, 0)
    close(y, torch.einsum("rk,rkn->rn", each, w.double()[chosen.long()]) * shares.double()[:, None])


def test_transpose():
    x, y = tensor(50, 70), zeros(70, 50)
    launch(programs.transpose, (2, 5), x, y, 32, 16)
    assert torch.equal(y, x.T)


def test_fourier_transform():
    re, im = tensor(3, 64), tensor(3, 64, seed=1)
    y_re, y_im = zeros(3, 64), zeros(3, 64)
    launch(programs.fourier, 3, re, im, y_re, y_im, 64, 6)
    wanted = torch.fft.fft(torch.complex(re.double(), im.double()))
    close(y_re, wanted.real)
    close(y_im, wanted.imag)


def test_fourier_transform_by_products():
    rows, one, two = 3, 16, 32
    parts = []

    def add(values):
        values = values.to(torch.complex128)
        parts.extend(placed(part.contiguous().to(torch.float32)) for part in (values.real, values.imag))
        return values

    def roots(m, n, period):
        return torch.exp(-2j * torch.pi * torch.outer(torch.arange(m), torch.arange(n)).double() / period)

    x = add(torch.complex(tensor(rows, one * two).cpu().double(), tensor(rows, one * two, seed=1).cpu().double()))
    add(roots(one, one, one)), add(roots(two, two, two)), add(roots(one, two, one * two))
    y_re, y_im = zeros(rows, one * two), zeros(rows, one * two)
    launch(programs.fourier_by_products, rows, *parts, y_re, y_im, one, two)
    wanted = torch.fft.fft(x)
    close(y_re, placed(wanted.real))
    close(y_im, placed(wanted.imag))


def test_block_scaled_matmul():
    rng = np.random.default_rng(0)
    m, n, k = 150, 130, 192
    a, b = tensor(m, k, dtype=torch.float8_e4m3fn), tensor(k, n, dtype=torch.float8_e4m3fn, seed=1)
    sa, sb = (placed(torch.from_numpy(rng.integers(122, 132, s, dtype="u1"))) for s in ((m, k // 32), (k // 32, n)))
    c = zeros(m, n)
    scales = {"SA": "float8_e8m0fnu", "SB": "float8_e8m0fnu"}
    launch(programs.block_scaled_matmul, (2, 2), a, sa, b, sb, c, 128, 128, 64, dtypes=scales)
    x = a.double() * torch.exp2(sa.double() - 127).repeat_interleave(32, 1)
    close(c, x @ (b.double() * torch.exp2(sb.double() - 127).repeat_interleave(32, 0)), 1e-4)


HALF, SINGLE, WORD = torch.float16, torch.float32, torch.int32
ARGUMENTS = {
    "vector_add": [(SINGLE, 4096)] * 3 + [1024],
    "batched_matmul": [(HALF, 4, 512, 512)] * 2 + [(SINGLE, 4, 512, 512), 128, 128, 64],
    "persistent_matmul": [(HALF, 512, 512)] * 3 + [128, 128, 64, 8],
    "attention": [(HALF, 4, 512, 64)] * 4 + [0.125, 64, 64, 64, True, 1],
    "layer_norm": [(SINGLE, 16, 4096), *[(SINGLE, 4096)] * 2, (SINGLE, 16, 4096), *[(SINGLE, 16)] * 2, 1e-5, 1024],
    "layer_norm_gradients": [
        *[(SINGLE, 16, 128)] * 2, (SINGLE, 128), *[(SINGLE, 16)] * 2, (SINGLE, 16, 128), *[(SINGLE, 4, 128)] * 2,
        (WORD, 4), 4, 128,
    ],
    "grouped_gemm": [
        (HALF, 256, 256), (WORD, 512), (WORD, 8), (HALF, 4, 256, 256), (SINGLE, 512), (HALF, 512, 256), 2, 64, 64, 32,
    ],
    "place_rows": [(WORD, 512), (WORD, 8), (WORD, 8), (WORD, 1024), 128],
    "transpose": [(SINGLE, 512, 512)] * 2 + [64, 64],
    "fourier": [(SINGLE, 16, 256)] * 4 + [256, 8],
    "fourier_by_products": [
        *[(SINGLE, 16, 1024)] * 2, *[(SINGLE, 32, 32)] * 6, *[(SINGLE, 16, 1024)] * 2, 32, 32,
    ],
}  # fmt: skip


# On sm_100 products are other instructions; of the rest two are enough there.
ON_SM_100 = ("vector_add", "batched_matmul", "persistent_matmul", "attention", "fourier")


@pytest.mark.parametrize(
    "name, target", [*((name, "cuda:90") for name in ARGUMENTS), *((name, "cuda:100") for name in ON_SM_100)]
)
def test_machine_code_for_a_gpu(name, target):
    examples = [torch.zeros(*a[1:], dtype=a[0]) if isinstance(a, tuple) else a for a in ARGUMENTS[name]]
    compiled = tle_raw.fragment(getattr(programs, name)).as_kernel().compile(examples, target)
    ptx = compiled.asm["ptx"]
    assert compiled.asm["cubin"] and ptx.count(".entry") == 1
    if name in ("batched_matmul", "persistent_matmul", "attention"):
        assert ("wgmma" if target == "cuda:90" else "tcgen05.mma") in ptx and "cp.async" in ptx
    if name in ("vector_add", "layer_norm", "transpose"):
        assert "ld.global.v4" in ptx
