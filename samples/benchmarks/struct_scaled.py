"""Products of experts in fp8 with scales for 128 numbers: sample 25, plain Triton, and vLLM's own kernel.

The options are those of ``struct_experts.py``.
"""

from __future__ import annotations

from typing import Any

import measure
import struct_experts
import struct_plain_scaled
import torch
import triton
from struct_grouped import BUFFERS, Plain, Sizes
from triton.tools.tensor_descriptor import TensorDescriptor

SCALED = 128
# As they are served: the experts of DeepSeek-V3 that one of eight GPUs has, to which a token comes once on average, and
# an eighth of each of all of its experts; those of Qwen3 whole, and a quarter of each.
MODELS = (
    ("DeepSeek-V3", Sizes(512, 32, 1, 4096, 7168)),
    ("DeepSeek-V3", Sizes(4096, 32, 1, 4096, 7168)),
    ("DeepSeek-V3", Sizes(16384, 32, 1, 4096, 7168)),
    ("DeepSeek-V3", Sizes(4096, 32, 1, 7168, 2048)),
    ("DeepSeek-V3", Sizes(16384, 32, 1, 7168, 2048)),
    ("DeepSeek-V3, an eighth", Sizes(4096, 256, 8, 512, 7168)),
    ("DeepSeek-V3, an eighth", Sizes(16384, 256, 8, 512, 7168)),
    ("Qwen3-30B-A3B", Sizes(512, 128, 8, 1536, 2048)),
    ("Qwen3-30B-A3B", Sizes(4096, 128, 8, 1536, 2048)),
    ("Qwen3-30B-A3B", Sizes(16384, 128, 8, 1536, 2048)),
    ("Qwen3-30B-A3B", Sizes(131072, 128, 1, 2048, 768)),
    ("Qwen3-235B-A22B, a quarter", Sizes(4096, 128, 8, 768, 4096)),
    ("Qwen3-235B-A22B, a quarter", Sizes(16384, 128, 8, 768, 4096)),
)
# BLOCK_M, BLOCK_N, BLOCK_K, warps, stages, GROUP_M, TMA, swapped, stays: by how many pairs an expert has.
FEW: tuple[Plain, ...] = (
    (16, 128, 128, 4, 4, 8, True, True, False),
    (32, 128, 128, 4, 4, 8, True, True, False),
    (16, 128, 128, 4, 4, 8, False, True, False),
)
MANY: tuple[Plain, ...] = (
    (64, 128, 128, 4, 3, 8, True, False, False),
    (64, 128, 128, 4, 4, 16, True, False, False),
    (64, 128, 128, 4, 4, 16, True, False, True),
    (64, 128, 128, 4, 3, 16, False, False, False),
    (64, 256, 128, 8, 3, 8, True, False, False),
    (128, 128, 128, 8, 3, 8, True, False, False),
    (128, 128, 128, 8, 4, 16, True, False, True),
    (128, 128, 128, 8, 4, 16, True, False, False),
    (128, 128, 128, 4, 3, 16, True, False, False),
    (128, 256, 128, 8, 3, 8, True, False, False),
)


def spread(scales: Any, *axes: int) -> Any:
    """In double precision, each as often as it stands for along the axes."""
    scales = scales.double()
    for axis in axes:
        scales = scales.repeat_interleave(SCALED, axis)
    return scales


class Scaled(struct_experts.Experts):
    """One product of a model, by all sides. All sizes but the number of tokens are multiples of 128."""

    kind = "fp8"

    def fill(self, device: str) -> None:
        tokens, experts, n, k = self.sizes.tokens, self.sizes.experts, self.sizes.n, self.sizes.k
        fp8 = torch.float8_e4m3fn
        self.x = [torch.randn(tokens, k, device=device).to(fp8) for _ in range(BUFFERS)]
        self.w = [torch.randn(experts, n, k, device=device, dtype=torch.bfloat16).to(fp8) for _ in range(BUFFERS)]
        steps = k // SCALED
        self.x_scales = [0.5 + torch.rand(tokens, steps, device=device) for _ in range(BUFFERS)]
        self.w_scales = [0.5 + torch.rand(experts, n // SCALED, steps, device=device) for _ in range(BUFFERS)]

    def rows(self, tokens: Any) -> Any:
        return super().rows(tokens) * spread(self.x_scales[0][tokens], 1)

    def weights(self, expert: int) -> Any:
        return super().weights(expert) * spread(self.w_scales[0][expert], 0, 1)

    def configs(self) -> tuple[Plain, ...]:
        return FEW if self.sizes.pairs <= 32 else MANY

    def ours(self, group: int) -> measure.Launch:
        def launch(i: int) -> object:
            given = self.x[i], self.x_scales[i], self.w[i], self.w_scales[i], *self.blocks, self.y
            return self.sample.launch(*given, self.choices, self.processors, group)

        return launch

    def plain(
        self, rows: int, columns: int, depth: int, warps: int, stages: int, group: int, tma: bool, swap: bool,
        stay: bool,
    ) -> measure.Launch:  # fmt: skip
        sizes = {"BLOCK_M": rows, "BLOCK_N": columns, "GROUP_M": group, "TMA": tma, "SWAP": swap, "STAYS": stay}
        pairs, experts = self.padded(rows)
        count, each = experts.numel(), max(1, 8 // warps)

        def launch(i: int) -> object:
            x, w = self.x[i], self.w[i]
            n, k = w.shape[1:]
            tiles = count * triton.cdiv(n, columns)
            grid = (min(tiles, self.processors * each) if stay else tiles,)
            taken = TensorDescriptor.from_tensor(w.view(-1, k), [columns, depth])
            return struct_plain_scaled.scaled[grid](
                *(x, self.x_scales[i], w, taken, self.w_scales[i], pairs, experts, self.y, count, self.choices, n, k),
                **sizes,
                num_warps=warps,
                num_stages=stages,
            )

        return launch

    def vllm_scales(self, i: int) -> dict[str, Any]:
        x, w = self.x_scales[i], self.w_scales[i]
        strides = dict(
            zip(("stride_asm", "stride_ask", "stride_bse", "stride_bsn", "stride_bsk"), x.stride() + w.stride())
        )
        return {
            "a_scale_ptr": x,
            "b_scale_ptr": w,
            "group_n": SCALED,
            "group_k": SCALED,
            "use_fp8_w8a8": True,
        } | strides


if __name__ == "__main__":
    struct_experts.main(__doc__.splitlines()[0], Scaled, MODELS, "25_fp8_grouped_gemm")
