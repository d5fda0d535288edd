"""An RMS norm and the product behind it as one kernel, over two launches: Triton's norm, and the best product."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import measure
import struct_kernels
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

BUFFERS, GOAL, EPSILON = 2, 1.0, 1e-6
CASES = ((8192, 4096, 4096), (4096, 4096, 4096), (8192, 8192, 8192), (16_384, 1024, 2048))  # rows, N, K
# What is changed of the sample's blocks, and BLOCK_M, BLOCK_N, warps, stages, GROUP_M of plain Triton.
OURS: dict[str, dict[str, int]] = {
    "as it is": {},
    "groups of 4": {"GROUP_M": 4},
    "groups of 16": {"GROUP_M": 16},
    "3 steps ahead": {"AHEAD": 3},
    "3 steps ahead, groups of 16": {"AHEAD": 3, "GROUP_M": 16},
}
PLAIN = ((128, 256, 8, 4, 4), (128, 256, 8, 4, 8), (128, 256, 8, 4, 16), (128, 256, 8, 3, 8), (128, 128, 4, 3, 8))


@triton.jit
def rms_norm(x_ptr, gain_ptr, y_ptr, epsilon, K, BLOCK: tl.constexpr):
    """A row for each program."""
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64) * K
    x = tl.load(x_ptr + row + at, mask=at < K, other=0.0).to(tl.float32)
    scale = tl.math.rsqrt(tl.sum(x * x, 0) / K + epsilon)
    gain = tl.load(gain_ptr + at, mask=at < K, other=0.0).to(tl.float32)
    tl.store(y_ptr + row + at, (x * scale * gain).to(y_ptr.dtype.element_ty), mask=at < K)


class Norm:
    """``norm(x) @ w.T`` in bf16."""

    def __init__(self, sample: Any, m: int, n: int, k: int, device: str = "cuda") -> None:
        self.sample, self.sizes = sample, (m, n, k)
        self.name = f"RMS norm and product of {m} × {n} × {k} bf16"
        self.x = [torch.randn(m, k, device=device).to(torch.bfloat16) for _ in range(BUFFERS)]
        self.w = [torch.randn(n, k, device=device).to(torch.bfloat16) for _ in range(BUFFERS)]
        self.gain = (1 + torch.randn(k, device=device) / 4).to(torch.bfloat16)
        self.folded = [sample.folded(self.gain, w) for w in self.w]
        self.normed = torch.empty_like(self.x[0])
        self.c = torch.empty(m, n, device=device, dtype=torch.bfloat16)
        self.processors = torch.cuda.get_device_properties(0).multi_processor_count if device == "cuda" else 132

    def ours(self, changed: dict[str, int]) -> measure.Launch:
        blocks = self.sample.BLOCKS | changed
        return lambda i: self.sample.launch(self.x[i], self.folded[i], self.c, EPSILON, self.processors, blocks)

    def norm(self, i: int) -> None:
        m, _, k = self.sizes
        block = triton.next_power_of_2(k)
        warps = min(16, max(4, block // 512))
        rms_norm[(m,)](self.x[i], self.gain, self.normed, EPSILON, k, block, num_warps=warps)

    def with_cublas(self, i: int) -> object:
        self.norm(i)
        return torch.mm(self.normed, self.w[i].T, out=self.c)

    def with_triton(self, rows: int, columns: int, warps: int, stages: int, group: int) -> measure.Launch:
        m, n, k = self.sizes
        halves = columns == 256
        sizes = {"BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": 64, "GROUP_M": group, "HALVES": halves}
        grid = (struct_kernels.sharing(triton.cdiv(m, rows) * triton.cdiv(n, columns), self.processors),)

        def launch(i: int) -> object:
            self.norm(i)
            shapes = (rows, 64), (columns, 64), (rows, columns // 2 if halves else columns)
            given = (self.normed, self.w[i], self.c)
            taken = [TensorDescriptor.from_tensor(x, list(shape)) for x, shape in zip(given, shapes)]
            return struct_kernels.persistent[grid](*taken, m, n, k, **sizes, num_warps=warps, num_stages=stages)

        return launch

    def candidates(self) -> list[dict[str, measure.Launch]]:
        others = {
            "Triton {}x{}, {} warps, {} stages, groups of {}".format(*config): self.with_triton(*config)
            for config in PLAIN
        }
        return [{name: self.ours(changed) for name, changed in OURS.items()}, others | {"cuBLAS": self.with_cublas}]

    def check(self, name: str, launch: measure.Launch, expected: Any) -> None:
        self.c.fill_(float("nan"))
        launch(0)
        measure.check(name, self.c, expected, 5e-3)


def makers(load: Callable[[str], Any], device: str = "cuda") -> list[Callable[[], Norm]]:
    return [functools.partial(Norm, load("17_rms_norm_gemm"), *sizes, device=device) for sizes in CASES]


def rows_of(case: Norm, quick: bool) -> list[measure.Row]:
    expected = case.sample.expected(case.x[0], case.gain.double() * case.w[0].double(), EPSILON)
    check = functools.partial(case.check, expected=expected)
    ours, others = (measure.fastest(each, check, BUFFERS) for each in case.candidates())
    times, noise = measure.compare({"one kernel": ours[1], "two launches": others[1]}, BUFFERS, quick)
    sides = {f"{side} µs": 1000 * ms for side, ms in times.items()}
    what, note = f"{case.name}: two launches over one", f"ours {ours[0]}; the product {others[0]}"
    return [measure.Row(what, times["two launches"] / times["one kernel"], "x", GOAL, True, sides, noise, note)]
