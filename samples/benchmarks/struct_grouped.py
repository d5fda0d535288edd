"""Products of a mixture of experts: rows that CUDA code gathers for specialised warps, over plain Triton."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import measure
import struct_plain_grouped
import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

BUFFERS, GOAL = 2, 1.2


@dataclass(frozen=True)
class Sizes:
    """``tokens`` rows of ``k`` elements, each for ``choices`` of ``experts`` matrices of ``n`` × ``k``.

    With ``skew`` the experts are chosen with weights of 1, 1/2, 1/3, … to that power.
    """

    tokens: int
    experts: int
    choices: int
    n: int
    k: int
    skew: float = 0.0

    @property
    def pairs(self) -> float:
        """Of an expert, on average."""
        return self.tokens * self.choices / self.experts

    def __str__(self) -> str:
        skew = ", skewed" if self.skew else ""
        return f"{self.tokens} tokens × {self.choices} of {self.experts} experts{skew}, {self.n} × {self.k}"


# Both products of Qwen3-30B-A3B (2048 × 768), the first of OLMoE (2048 × 1024), of DeepSeek-V3 whose experts eight GPUs
# share by their columns (7168 × 256), and of a few large experts. From 4 pairs an expert, where all that counts is how
# fast weights come, to 2048, where it is how fast tensor cores are. Between them blocks of a fixed size are half empty.
CASES = (
    Sizes(64, 128, 8, 1536, 2048),
    Sizes(256, 128, 8, 1536, 2048),
    Sizes(1024, 128, 8, 1536, 2048),
    Sizes(1024, 128, 8, 1536, 2048, 1.0),
    Sizes(2048, 128, 8, 1536, 2048),
    Sizes(2048, 128, 8, 1536, 2048, 1.0),
    Sizes(2560, 128, 8, 1536, 2048),
    Sizes(3072, 128, 8, 1536, 2048),
    Sizes(4096, 128, 8, 1536, 2048),
    Sizes(2048, 128, 8, 2048, 768),
    Sizes(1024, 64, 8, 2048, 2048),
    Sizes(2048, 64, 8, 2048, 2048),
    Sizes(8192, 64, 8, 2048, 2048),
    Sizes(1024, 256, 8, 512, 7168),
    Sizes(4096, 256, 8, 512, 7168),
    Sizes(8192, 8, 2, 4096, 4096),
)
# Products of models as they are served, while they decode and for long prompts. A row of a second product belongs to
# one pair. The experts of DeepSeek-V3 are those of one of eight GPUs, to which a token comes once on average.
MODELS = (
    ("Mixtral 8x7B", Sizes(64, 8, 2, 28672, 4096)),
    ("Mixtral 8x7B", Sizes(4096, 8, 2, 28672, 4096)),
    ("Mixtral 8x7B", Sizes(8192, 8, 1, 4096, 14336)),
    ("Qwen3-30B-A3B", Sizes(512, 128, 8, 1536, 2048)),
    ("Qwen3-30B-A3B", Sizes(4096, 128, 8, 1536, 2048)),
    ("Qwen3-30B-A3B", Sizes(32768, 128, 1, 2048, 768)),
    ("Qwen3-30B-A3B", Sizes(16384, 128, 8, 1536, 2048)),
    ("Qwen3-235B-A22B", Sizes(4096, 128, 8, 3072, 4096)),
    ("Qwen3-235B-A22B", Sizes(32768, 128, 1, 4096, 1536)),
    ("DeepSeek-V3", Sizes(512, 32, 1, 4096, 7168)),
    ("DeepSeek-V3", Sizes(4096, 32, 1, 4096, 7168)),
    ("DeepSeek-V3", Sizes(16384, 32, 1, 4096, 7168)),
    ("DeepSeek-V3", Sizes(16384, 32, 1, 7168, 2048)),
)
# Of how many blocks the tiles are walked together.
OURS = (16, 8, 4)
# BLOCK_M, BLOCK_N, BLOCK_K, warps, stages, GROUP_M, whether weights come by TMA, are the left operand, programs stay.
# Those of 29 that were among the best for some case, by how many pairs an expert has; and, without TMA, the form of
# vLLM's fused_moe with sizes that it has tuned for Hopper.
Plain = tuple[int, int, int, int, int, int, bool, bool, bool]
FEW: tuple[Plain, ...] = (
    (16, 128, 128, 4, 3, 8, True, True, False),
    (16, 128, 128, 4, 3, 8, False, False, False),
    (32, 128, 64, 4, 4, 8, True, True, False),
    (16, 64, 128, 4, 4, 1, False, False, False),
)
SOME: tuple[Plain, ...] = (
    (64, 128, 64, 4, 3, 8, True, False, False),
    (64, 256, 64, 4, 4, 8, True, False, False),
    (64, 256, 64, 4, 4, 8, True, False, True),
    (64, 128, 64, 4, 4, 16, False, False, False),
)
MANY: tuple[Plain, ...] = (
    (128, 256, 64, 8, 4, 8, True, False, False),
    (128, 256, 64, 8, 4, 8, True, False, True),
    (128, 256, 64, 8, 4, 4, True, False, True),
    (128, 256, 64, 8, 4, 16, False, False, False),
    (128, 128, 64, 8, 4, 16, False, False, False),
)


def plain_for(pairs: float) -> tuple[Plain, ...]:
    return (FEW if pairs <= 48 else ()) + (SOME if 8 <= pairs <= 200 else ()) + (MANY if pairs >= 48 else ())


def padded(pairs: Any, counts: Any, size: int) -> tuple[Any, Any]:
    """The pairs in whole blocks, filled up with -1, and the expert of each block: as plain Triton takes them."""
    experts = counts.numel()
    shares = (counts + size - 1) // size
    filled = torch.full((int(shares.sum()) * size,), -1, dtype=torch.int32, device=pairs.device)
    of_pair = torch.repeat_interleave(torch.arange(experts, device=pairs.device), counts)
    begin = (shares.cumsum(0) - shares) * size - (counts.cumsum(0) - counts)
    filled[torch.arange(pairs.numel(), device=pairs.device) + begin[of_pair]] = pairs
    return filled, torch.repeat_interleave(torch.arange(experts, device=pairs.device), shares).to(torch.int32)


class Grouped:
    """Each token's row times the weights of its experts."""

    kind = "bf16"

    def __init__(self, sample: Any, sizes: Sizes, model: str = "", device: str = "cuda") -> None:
        self.sample, self.sizes, self.choices = sample, sizes, sizes.choices
        self.name = f"{model + ': ' if model else ''}products of {sizes} {self.kind}"
        tokens, experts, n = sizes.tokens, sizes.experts, sizes.n
        self.fill(device)
        weights = (1 / torch.arange(1, experts + 1, device=device)) ** sizes.skew
        self.chosen = torch.multinomial(weights.expand(tokens, -1), self.choices)
        self.y = torch.empty(tokens * self.choices, n, device=device, dtype=torch.bfloat16)
        self.processors = torch.cuda.get_device_properties(0).multi_processor_count if device == "cuda" else 132
        self.blocks = sample.in_blocks(self.chosen, experts)
        counts = torch.bincount(self.chosen.flatten(), minlength=experts)
        self.padded = functools.cache(lambda size: padded(self.blocks[0], counts, size))

    def fill(self, device: str) -> None:
        """Make the operands, ``x`` and ``w``, of each of the buffers."""
        tokens, experts, n, k = self.sizes.tokens, self.sizes.experts, self.sizes.n, self.sizes.k
        self.x = [torch.randn(tokens, k, device=device).to(torch.bfloat16) for _ in range(BUFFERS)]
        self.w = [torch.randn(experts, n, k, device=device, dtype=torch.bfloat16) for _ in range(BUFFERS)]

    def vllm_scales(self, i: int) -> dict[str, Any]:
        """What vLLM's kernel is told of scales."""
        return {}

    def configs(self) -> tuple[Plain, ...]:
        """Of plain Triton."""
        return plain_for(self.sizes.pairs)

    def ours(self, group: int) -> measure.Launch:
        def launch(i: int) -> object:
            given = self.x[i], self.w[i], *self.blocks, self.y
            return self.sample.launch(*given, self.choices, self.processors, group)

        return launch

    def plain(
        self,
        rows: int,
        columns: int,
        depth: int,
        warps: int,
        stages: int,
        group: int,
        tma: bool,
        swap: bool,
        stay: bool,
    ) -> measure.Launch:
        sizes = {"BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": depth, "GROUP_M": group, "TMA": tma, "SWAP": swap}
        pairs, experts = self.padded(rows)
        count = experts.numel()

        def launch(i: int) -> object:
            x, w = self.x[i], self.w[i]
            n, k = w.shape[1:]
            tiles = count * triton.cdiv(n, columns)
            grid = (min(tiles, self.processors * (1 if rows * columns > 2**14 else 2)) if stay else tiles,)
            taken = TensorDescriptor.from_tensor(w.view(-1, k), [columns, depth])
            return struct_plain_grouped.grouped[grid](
                *(x, pairs, experts, w, taken, self.y, count, self.choices, n, k),
                **sizes,
                STAYS=stay,
                num_warps=warps,
                num_stages=stages,
            )

        return launch

    def candidates(self) -> list[dict[str, measure.Launch]]:
        names = "{} × {} × {}, {} warps, {} stages, groups of {}, TMA: {}, swapped: {}, stays: {}"
        return [
            {f"groups of {group}": self.ours(group) for group in OURS},
            {names.format(*config): self.plain(*config) for config in self.configs()},
        ]

    def expected(self) -> Any:
        """In double precision."""
        found = torch.empty(self.y.shape, device=self.y.device, dtype=torch.float64)
        for expert in range(self.sizes.experts):
            pair = (self.chosen.flatten() == expert).nonzero()[:, 0]
            if pair.numel():
                found[pair] = self.rows(pair // self.choices) @ self.weights(expert).T
        return found

    def rows(self, tokens: Any) -> Any:
        return self.x[0][tokens].double()

    def weights(self, expert: int) -> Any:
        return self.w[0][expert].double()

    def check(self, name: str, launch: measure.Launch, expected: Any) -> None:
        self.y.fill_(float("nan"))
        launch(0)
        measure.check(name, self.y, expected, 4e-3)


def makers(load: Callable[[str], Any], device: str = "cuda") -> list[Callable[[], Grouped]]:
    sample = load("10_moe_grouped_gemm")
    return [functools.partial(Grouped, sample, sizes, device=device) for sizes in CASES]


def models(load: Callable[[str], Any]) -> list[Callable[[], Grouped]]:
    sample = load("10_moe_grouped_gemm")
    return [functools.partial(Grouped, sample, sizes, model) for model, sizes in MODELS]


def mean_of(rows: list[measure.Row]) -> measure.Row:
    """The geometric mean of ratios."""
    mean = math.exp(sum(math.log(row.value) for row in rows) / len(rows))
    return measure.Row(f"products of experts: geometric mean of {len(rows)}", mean, "x", GOAL, True)


def rows_of(case: Grouped, quick: bool) -> list[measure.Row]:
    expected = case.expected()
    check = functools.partial(case.check, expected=expected)
    ours, others = (measure.fastest(each, check, BUFFERS) for each in case.candidates())
    times, noise = measure.compare({"ours": ours[1], "Triton": others[1]}, BUFFERS, quick)
    flops = 2 * case.y.numel() * case.x[0].shape[1]
    speed = {f"{side} TFLOP/s": flops / ms / 1e9 for side, ms in times.items()}
    what, note = f"{case.name}: gathered by CUDA code over plain Triton", f"ours {ours[0]}; Triton {others[0]}"
    return [measure.Row(what, times["Triton"] / times["ours"], "x", GOAL, True, speed, noise, note)]
