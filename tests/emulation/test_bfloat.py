"""LLVM's own bfloat type on the CPU: every pattern of bits, subnormals too, as a GPU computes it."""

import numpy as np
import pytest
import torch

import tle_raw
from tle_raw import InOut, Tile
from tle_raw.flir.cpu.run_fragment import run_fragment

pytestmark = pytest.mark.one_triton

SIZE = 1 << 14
EACH = """declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define void @f(ptr addrspace(3) %t, ptr addrspace(3) %u) {{
entry:
  %first = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %work
work:
  %i = phi i32 [ %first, %entry ], [ %next, %work ]
  %a = getelementptr bfloat, ptr addrspace(3) %t, i32 %i
  %b = getelementptr bfloat, ptr addrspace(3) %u, i32 %i
  %x = load bfloat, ptr addrspace(3) %a
  %y = load bfloat, ptr addrspace(3) %b
{body}
  store bfloat %z, ptr addrspace(3) %a
  %next = add i32 %i, 128
  %more = icmp slt i32 %next, {size}
  br i1 %more, label %work, label %end
end:
  ret void
}}
"""


def both(x: InOut[Tile["bf16", SIZE]], y: InOut[Tile["bf16", SIZE]]): ...


def bfloats(bits: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def narrowed(values: np.ndarray) -> np.ndarray:
    """To bits, to the nearest even. The f32 between is exact enough for one operation of two bfloats."""
    return torch.from_numpy(values.astype(np.float32)).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)


def run(body: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    text = EACH.format(body=body, size=SIZE)
    compiled = tle_raw.fragment(text, signature=both, dialect="llvm", symbol="f").compile(target="cpu")
    return run_fragment(compiled, {"x": x, "y": y}, num_warps=4)[0].view(np.uint16)


OPERATIONS = {
    "fadd": np.add, "fsub": np.subtract, "fmul": np.multiply, "fdiv": np.divide,
}  # fmt: skip


@pytest.mark.parametrize("operation", OPERATIONS)
def test_arithmetic_is_right_for_all_bits(operation):
    random = np.random.default_rng(3)
    x, y = random.integers(0, 1 << 16, (2, SIZE), dtype=np.uint16)
    x[: SIZE // 4] &= 0x80FF  # subnormal, or near to it
    y[SIZE // 8 : SIZE // 2] &= 0x80FF
    with np.errstate(all="ignore"):
        expected = narrowed(OPERATIONS[operation](bfloats(x), bfloats(y)))
    got = run(f"  %z = {operation} bfloat %x, %y", x.copy(), y.copy())
    nan = np.isnan(bfloats(expected))
    np.testing.assert_array_equal(np.isnan(bfloats(got)), nan)
    np.testing.assert_array_equal(got[~nan], expected[~nan])


@pytest.mark.parametrize("start", range(0, 1 << 16, SIZE))
def test_widening_and_narrowing_keep_every_pattern(start):
    x = np.arange(start, start + SIZE, dtype=np.uint32).astype(np.uint16)
    body = "  %w = fpext bfloat %x to float\n  %s = fmul float %w, 1.0\n  %z = fptrunc float %s to bfloat"
    got, nan = run(body, x.copy(), x.copy()), np.isnan(bfloats(x))
    np.testing.assert_array_equal(np.isnan(bfloats(got)), nan)
    np.testing.assert_array_equal(got[~nan], x[~nan])


def test_functions_that_the_hosts_llvm_stumbles_over():
    """LLVM 22 ended the process over atan2 of two extended bfloats."""
    random = np.random.default_rng(4)
    x, y = (narrowed(random.uniform(0.5, 2, SIZE)) for _ in range(2))
    body = """  %a32 = fpext bfloat %x to float
  %b32 = fpext bfloat %y to float
  %r = call float @__nv_atan2f(float %a32, float %b32)
  %z = fptrunc float %r to bfloat"""
    text = f"declare float @__nv_atan2f(float, float)\n{EACH.format(body=body, size=SIZE)}"
    compiled = tle_raw.fragment(text, signature=both, dialect="llvm", symbol="f").compile(target="cpu")
    got = run_fragment(compiled, {"x": x.copy(), "y": y}, num_warps=4)[0].view(np.uint16)
    np.testing.assert_allclose(bfloats(got), np.arctan2(bfloats(x), bfloats(y)), rtol=2.0**-8)
