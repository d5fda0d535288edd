"""Products of a mixture of experts: rows that CUDA code gathers for specialised warps, over plain Triton."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import measure
import struct_plain_grouped
import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

BUFFERS, GOAL = 2, 1.2
# Tokens, experts, choices, N, K; of which size the blocks of pairs are that both sides take.
CASES = ((8192, 8, 2, 4096, 4096), (8192, 64, 8, 2048, 2048), (4096, 128, 8, 1536, 2048))
# What is changed of the sample's blocks.
OURS: dict[str, dict[str, int]] = {
    "as it is": {},
    "groups of 4": {"GROUP_M": 4},
    "groups of 16": {"GROUP_M": 16},
    "groups of 32": {"GROUP_M": 32},
    "3 slots": {"SLOTS": 3},
    "tiles of 128": {"BLOCK_N": 128},
}
# BLOCK_N, BLOCK_K, warps, stages, GROUP_M, whether weights come by TMA.
PLAIN = (
    (128, 64, 8, 3, 8, True),
    (128, 64, 8, 4, 8, True),
    (128, 64, 4, 3, 8, True),
    (256, 64, 8, 3, 8, True),
    (256, 64, 8, 4, 8, True),
    (256, 64, 8, 3, 16, True),
    (128, 64, 8, 3, 8, False),
    (128, 64, 4, 3, 8, False),
    (256, 64, 8, 3, 8, False),
)
SIZE = 128


class Grouped:
    """Each token's row times the weights of its experts."""

    def __init__(
        self, sample: Any, tokens: int, experts: int, choices: int, n: int, k: int, device: str = "cuda"
    ) -> None:
        self.sample, self.choices = sample, choices
        self.name = f"products of {tokens} tokens × {choices} of {experts} experts, {n} × {k} bf16"
        self.x = [torch.randn(tokens, k, device=device).to(torch.bfloat16) for _ in range(BUFFERS)]
        self.w = [torch.randn(experts, n, k, device=device).to(torch.bfloat16) for _ in range(BUFFERS)]
        self.chosen = torch.rand(tokens, experts, device=device).topk(choices).indices
        self.pairs, self.experts = sample.in_blocks(self.chosen, experts, SIZE)
        self.y = torch.empty(tokens * choices, n, device=device, dtype=torch.bfloat16)
        self.processors = torch.cuda.get_device_properties(0).multi_processor_count if device == "cuda" else 132

    def ours(self, changed: dict[str, int]) -> measure.Launch:
        blocks = self.sample.BLOCKS | changed

        def launch(i: int) -> object:
            given = self.x[i], self.w[i], self.pairs, self.experts, self.y
            return self.sample.launch(*given, self.choices, self.processors, blocks)

        return launch

    def plain(self, columns: int, depth: int, warps: int, stages: int, group: int, tma: bool) -> measure.Launch:
        sizes = {"BLOCK_M": SIZE, "BLOCK_N": columns, "BLOCK_K": depth, "GROUP_M": group, "TMA": tma}
        count = self.experts.numel()

        def launch(i: int) -> object:
            x, w = self.x[i], self.w[i]
            n, k = w.shape[1:]
            grid = (count * triton.cdiv(n, columns),)
            taken = TensorDescriptor.from_tensor(w.view(-1, k), [columns, depth])
            return struct_plain_grouped.grouped[grid](
                *(x, self.pairs, self.experts, w, taken, self.y, count, self.choices, n, k),
                **sizes,
                num_warps=warps,
                num_stages=stages,
            )

        return launch

    def candidates(self) -> list[dict[str, measure.Launch]]:
        names = "{} columns, {} deep, {} warps, {} stages, groups of {}, TMA: {}"
        return [
            {name: self.ours(changed) for name, changed in OURS.items()},
            {names.format(*config): self.plain(*config) for config in PLAIN},
        ]

    def expected(self) -> Any:
        """In double precision."""
        found = torch.empty(self.y.shape, device=self.y.device, dtype=torch.float64)
        for expert in range(self.w[0].shape[0]):
            pair = (self.chosen.flatten() == expert).nonzero()[:, 0]
            found[pair] = self.x[0][pair // self.choices].double() @ self.w[0][expert].double().T
        return found

    def check(self, name: str, launch: measure.Launch, expected: Any) -> None:
        self.y.fill_(float("nan"))
        launch(0)
        measure.check(name, self.y, expected, 4e-3)


def makers(load: Callable[[str], Any], device: str = "cuda") -> list[Callable[[], Grouped]]:
    sample = load("10_moe_grouped_gemm")
    return [functools.partial(Grouped, sample, *sizes, device=device) for sizes in CASES]


def rows_of(case: Grouped, fastest: Callable[..., tuple[str, Any]], quick: bool) -> list[measure.Row]:
    expected = case.expected()
    ours, others = (fastest(each, lambda *given: case.check(*given, expected)) for each in case.candidates())
    times, noise = measure.compare({"ours": ours[1], "Triton": others[1]}, BUFFERS, quick)
    flops = 2 * case.y.numel() * case.x[0].shape[1]
    speed = {f"{side} TFLOP/s": flops / ms / 1e9 for side, ms in times.items()}
    what, note = f"{case.name}: gathered by CUDA code over plain Triton", f"ours {ours[0]}; Triton {others[0]}"
    return [measure.Row(what, times["Triton"] / times["ours"], "x", GOAL, True, speed, noise, note)]
