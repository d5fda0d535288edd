"""Products by groups of warps that take turns (sample 13), of 16 and 8 bits, against double precision."""

from __future__ import annotations

import pytest
import torch

from samples import common
from tests.gpu.device import COMPILE_ONLY, DEVICE, HOPPER, ON_CPU, TIMES

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("hang_guard"),
    pytest.mark.skipif(ON_CPU, reason="specialised warps are for GPUs"),
    pytest.mark.skipif(not HOPPER, reason="the kernel uses the copy engine and wgmma: sm_90"),
]
# Of fp8 tensor cores keep some 14 bits of a sum.
ERRORS = {torch.float16: 1e-3, torch.bfloat16: 5e-3, torch.float8_e4m3fn: 1e-2}


@pytest.fixture(scope="module")
def sample():
    return common.load("tle_struct/13_ping_pong_gemm.py")


def operands(m, n, k, dtype):
    a, b = (torch.randn(rows, k, device=DEVICE).to(dtype) for rows in (m, n))
    made = torch.bfloat16 if dtype == torch.float8_e4m3fn else dtype
    return a, b, torch.full((m, n), float("nan"), device=DEVICE, dtype=made)


def check(a, b, c):
    if not COMPILE_ONLY:
        want = a.double() @ b.double().T
        error = ((c.double() - want).norm() / want.norm()).item()
        assert error <= ERRORS[a.dtype], error


@pytest.mark.parametrize("dtype", ERRORS)
@pytest.mark.parametrize("m, n, k", [(128, 128, 64), (200, 272, 80), (1000, 512, 1008), (129, 64, 48), (640, 640, 16)])
def test_products_of_odd_sizes(sample, m, n, k, dtype):
    a, b, c = operands(m, n, k, dtype)
    sample.launch(a, b, c, 132)
    check(a, b, c)


@pytest.mark.parametrize("programs", [1, 2, 5, 24, 25])
def test_an_odd_and_an_even_number_of_tiles_for_a_program(sample, programs):
    a, b, c = operands(640, 640, 400, torch.bfloat16)
    sample.launch(a, b, c, programs)
    check(a, b, c)


@pytest.mark.parametrize("dtype", ERRORS)
@pytest.mark.parametrize("rows, columns, slots", [(64, 256, 4), (128, 64, 3), (128, 128, 5)])
def test_tiles_of_other_sizes(sample, rows, columns, slots, dtype):
    a, b, c = operands(1111, 784, 528, dtype)
    sample.launch(a, b, c, 13, sample.BLOCKS | {"BLOCK_M": rows, "BLOCK_N": columns, "SLOTS": slots})
    check(a, b, c)


def test_many_launches_give_the_same_bits(sample):
    a, b, c = operands(1024, 1024, 512, torch.bfloat16)
    sample.launch(a, b, c, 7)
    check(a, b, c)
    for _ in range(TIMES // 5):
        again = torch.full_like(c, float("nan"))
        sample.launch(a, b, again, 7)
        assert COMPILE_ONLY or torch.equal(again, c)
