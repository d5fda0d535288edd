"""Narrow elements between a Triton kernel and its region: bytes behind pointers, and tiles of bytes."""

from __future__ import annotations

import numpy as np
import pytest
import tilelang.language as T
import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import tle_raw
from tests.adapters.tilelang.form_cases import E2M1
from tle_raw.errors import SignatureError

pytestmark = pytest.mark.every_triton(2)


@T.prim_func
def scale_rows(
    Q: T.Tensor((64, 32), "float4_e2m1fn"), S: T.Tensor((64, 32), "float8_e8m0fnu"), Y: T.Tensor((64, 32), "float32")
):
    with T.Kernel(16, threads=128) as bx:
        q = T.alloc_fragment((4, 32), "float4_e2m1fn")
        s = T.alloc_fragment((4, 32), "float8_e8m0fnu")
        y = T.alloc_fragment((4, 32), "float32")
        T.copy(Q[bx * 4, 0], q)
        T.copy(S[bx * 4, 0], s)
        for i, j in T.Parallel(4, 32):
            y[i, j] = T.Cast("float32", q[i, j]) * T.Cast("float32", s[i, j])
        T.copy(y, Y[bx * 4, 0])


scaled = tle_raw.dialect("tilelang", tiles=["S", "Y"])(scale_rows)
scaled_by_linking = tle_raw.dialect("tilelang", tiles=["S", "Y"], route="linked")(scale_rows)


@triton.jit
def kernel(q_ptr, s_ptr, y_ptr):
    at = tl.program_id(0) * 128 + tl.arange(0, 4)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tl.store(y_ptr + at, scaled(q_ptr, tl.load(s_ptr + at)))


@triton.jit
def linked_kernel(q_ptr, s_ptr, y_ptr):
    at = tl.program_id(0) * 128 + tl.arange(0, 4)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tl.store(y_ptr + at, scaled_by_linking(q_ptr, tl.load(s_ptr + at)))


def test_bytes_behind_a_pointer_and_in_a_tile(on_cpu):
    generator = torch.Generator().manual_seed(4)
    q = torch.randint(0, 256, (64, 16), generator=generator).to(torch.uint8)
    s = torch.randint(100, 150, (64, 32), generator=generator).to(torch.uint8)
    y = torch.zeros(64, 32)
    kernel[(16,)](q, s, y)
    codes = np.stack([q.numpy() & 15, q.numpy() >> 4], -1).reshape(64, 32)
    expected = np.where(codes & 8, -1.0, 1.0) * E2M1[codes & 7] * np.exp2(s.numpy().astype(np.float64) - 127)
    np.testing.assert_array_equal(y.double().numpy(), expected)


@pytest.mark.parametrize("function, route", [(kernel, "traced"), (linked_kernel, "linked")])
def test_they_compile_by_both_routes(function, route):
    source = ASTSource(function, {"q_ptr": "*u8", "s_ptr": "*u8", "y_ptr": "*fp32"})
    (region,) = tle_raw.report(triton.compile(source, target=GPUTarget("cuda", 90, 32))).regions
    assert region.route == route


@pytest.mark.one_triton
def test_a_tile_of_four_bits_is_refused():
    with pytest.raises(SignatureError, match="the elements of the tile `Q` are of four bits") as caught:
        tle_raw.fragment(scale_rows, tiles=["Q"])
    assert "pointer to the bytes" in str(caught.value)
