"""TileLang regions under TRITON_INTERPRET=1, in a process of its own: Triton decides at import."""

import torch
import triton
import triton.language as tl

import tle_raw
from tests.adapters.tilelang import kernels
from tests.interpreting import run_chosen
from tle_raw.errors import TLEError


def random(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def test_elementwise_and_dynamic_sizes():
    a, b, c = random(33, 70), random(33, 70, seed=1), torch.zeros(33, 70)
    tle_raw.fragment(kernels.add(33, 70)).as_kernel()(a, b, c)
    assert torch.equal(c, a + b)
    a, b = random(300), random(300, seed=1)
    expected = a * 0.5 + b
    tle_raw.fragment(kernels.scaled_add()).as_kernel()(a, b, 0.5)
    torch.testing.assert_close(b, expected)


def test_gemm_and_its_epilogue():
    a, b, c = random(100, 90, dtype=torch.float16), random(90, 70, dtype=torch.float16), torch.zeros(100, 70).half()
    tle_raw.fragment(kernels.gemm(100, 70, 90)).as_kernel()(a, b, c)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=1e-2)


def test_attention():
    q, k, v = (random(2, 64, 2, 32, dtype=torch.float16, seed=s) for s in range(3))
    out = torch.zeros_like(q)
    tle_raw.fragment(kernels.attention(rows=64, causal=True)).as_kernel()(q, k, v, out)
    turned = [x.double().transpose(1, 2) for x in (q, k, v)]
    expected = torch.nn.functional.scaled_dot_product_attention(*turned, is_causal=True).transpose(1, 2)
    torch.testing.assert_close(out.double(), expected, rtol=5e-3, atol=5e-3)


def test_reductions_loops_and_gathers():
    x, values, places = random(20, 64), torch.zeros(20, 4), torch.zeros(20, 4, dtype=torch.int32)
    tle_raw.fragment(kernels.top_k()).as_kernel()(x, values, places)
    expected = x.topk(4)
    assert torch.equal(values, expected.values) and torch.equal(places.long(), expected.indices)
    x, y = random(50, 100), torch.zeros(50, 100)
    tle_raw.fragment(kernels.softmax()).as_kernel()(x, y)
    torch.testing.assert_close(y, x.softmax(1))


def test_branches_while_loops_and_atomic_updates():
    a, b, c = random(64, 128, dtype=torch.float16), random(128, 96, dtype=torch.float16), torch.zeros(64, 96)
    tle_raw.fragment(kernels.gemm_stream_k()).as_kernel()(a, b, c)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-4, atol=1e-4)


soft = tle_raw.fragment(kernels.softmax(64, 64, 4), tiles=["X", "Y"])


@triton.jit
def scaled(x_ptr, y_ptr):
    at = (tl.program_id(0) * 4 + tl.arange(0, 4)[:, None]) * 64 + tl.arange(0, 64)[None, :]
    tl.store(y_ptr + at, soft(tl.load(x_ptr + at) * 2.0) + 1.0)


def test_tiles_of_the_caller():
    x, y = random(8, 64), torch.zeros(8, 64)
    scaled[(2,)](x, y)
    torch.testing.assert_close(y, (x * 2).softmax(1) + 1)


@triton.jit
def wrong(x_ptr, y_ptr):
    soft(x_ptr)


def test_errors_tell_both_lines():
    try:
        wrong[(1,)](random(8, 64), random(8, 64))
    except Exception as e:
        found = e
        while not isinstance(found, TLEError):
            found = found.__cause__ or found.__context__
        assert "a pointer where a tile belongs" in str(found) and "soft(x_ptr)" in str(found)
    else:
        raise AssertionError("no error")


if __name__ == "__main__":
    run_chosen(globals())
