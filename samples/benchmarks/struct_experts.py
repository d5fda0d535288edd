"""Products of experts of models: rows that CUDA code gathers, over our plain Triton kernel and over vLLM's own.

``--vllm FOLDER`` is vLLM's ``model_executor/layers/fused_moe``, of a wheel that was unpacked; without it vLLM's kernel
is left out. Pairs are aligned before, for all sides alike, as each takes them.
"""

from __future__ import annotations

import argparse
import functools
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import compile_only
import measure
import struct_grouped
import torch
import triton
from struct_grouped import BUFFERS, GOAL, MODELS, Grouped
from struct_samples import sample
from vllm_grouped import Fused

# Of a model: how wide an expert is between its two products, and how many a token chooses, as vLLM looks sizes up.
SHAPES = {
    "Mixtral 8x7B": (14336, 2),
    "Qwen3-30B-A3B": (768, 8),
    "Qwen3-235B-A22B": (1536, 8),
    "DeepSeek-V3": (2048, 1),
    "DeepSeek-V3, an eighth": (256, 8),
    "Qwen3-235B-A22B, a quarter": (384, 8),
}
Models = tuple[tuple[str, struct_grouped.Sizes], ...]
OTHERS = {"plain": "plain Triton", "vllm": "vLLM's kernel"}


class Experts(Grouped):
    """One product of a model, by all sides."""

    def __init__(self, sample: Any, fused: Fused | None, model: str, sizes: Any, device: str = "cuda") -> None:
        super().__init__(sample, sizes, model, device)
        self.fused, self.model = fused, model

    def sides(self) -> dict[str, dict[str, measure.Launch]]:
        ours, plain = self.candidates()
        found = {"ours": ours, "plain": plain}
        if self.fused is not None:
            width, choices = SHAPES[self.model]
            is_second = self.sizes.k == width
            tokens = self.sizes.tokens // choices if is_second else self.sizes.tokens
            hidden = self.sizes.n if is_second else self.sizes.k
            configs = self.fused.configs(self.sizes.experts, width, hidden, choices, tokens)
            found["vllm"] = {name: self.fused.launch(self, config) for name, config in configs.items()}
        return found


def _microseconds(ms: float) -> str:
    return f"{ms * 1e3:.1f} µs"


def rows_of(case: Experts, quick: bool) -> list[measure.Row]:
    expected = case.expected()
    sides = case.sides()
    check = functools.partial(case.check, expected=expected)
    best = {side: measure.fastest(given, check, BUFFERS, _microseconds, rounds=1) for side, given in sides.items()}
    del expected, check
    times, noise = measure.compare({side: launch for side, (_, launch) in best.items()}, BUFFERS, quick)
    flops = 2 * case.y.numel() * case.x[0].shape[1]
    speed = {side: flops / ms / 1e9 for side, ms in times.items()}
    return [
        measure.Row(
            f"{case.name}: ours over {what}", speed["ours"] / speed[other], "x", GOAL, True,
            {"ours TFLOP/s": speed["ours"], f"{what} TFLOP/s": speed[other]}, noise,
            f"ours {best['ours'][0]}; {best[other][0]}",
        )
        for other, what in OTHERS.items()
        if other in speed
    ]  # fmt: skip


def means(rows: list[measure.Row]) -> list[measure.Row]:
    """Geometric ones: over each of the other sides, and over whichever of them is faster."""
    of_sides = [[row.value for row in rows if row.name.endswith(f"ours over {what}")] for what in OTHERS.values()]
    named = {what: values for what, values in zip(OTHERS.values(), of_sides) if values}
    if len(named) > 1:
        named["the faster of both"] = [min(values) for values in zip(*of_sides)]
    return [
        measure.Row(
            f"products of experts: geometric mean of {len(values)}, ours over {what}",
            math.exp(sum(map(math.log, values)) / len(values)), "x", GOAL, True,
        )
        for what, values in named.items()
    ]  # fmt: skip


def compile_some(makers: list[Callable[[], Experts]], launches: Callable[[Any], object]) -> None:
    for make in makers:
        for candidates in make().sides().values():
            for launch in candidates.values():
                launches(launch)


def _launched(launch: measure.Launch) -> None:
    try:
        launch(0)
        torch.cuda.synchronize()
    except triton.runtime.errors.OutOfResources:
        pass


def main(
    description: str, kind: type[Experts] = Experts, given: Models = MODELS, file: str = "10_moe_grouped_gemm"
) -> None:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--vllm", type=Path, help="vLLM's folder fused_moe: its kernel is a side, too")
    parser.add_argument("--compile-only", action="store_true", help="no GPU: compile everything, time nothing")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--warm", help="K/N: only compile and run once the products whose number is K modulo N")
    options = parser.parse_args()
    torch.manual_seed(0)
    fused = None if options.vllm is None else Fused(options.vllm, kind.kind == "fp8")
    make = functools.partial(kind, sample(file), fused)
    if options.compile_only:
        compile_only.install()
        small = [(model, struct_grouped.Sizes(64, s.experts, s.choices, s.n, 256)) for model, s in given[::4]]
        compile_some([functools.partial(make, *each, "cpu") for each in small], lambda launch: launch(0))
        return
    makers = [functools.partial(make, *each) for each in given]
    if options.warm:
        mine, of = map(int, options.warm.split("/"))
        compile_some(makers[mine::of], _launched)
        return
    rows, failed = measure.rows_of_all(makers, rows_of, options.quick)
    rows += (last := means(rows))
    print("\n".join(row.line() for row in last), flush=True)
    measure.write(f"kernels of TLE-Struct, experts{' in fp8' * (kind.kind == 'fp8')} beside vLLM", rows, options)
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main(__doc__.splitlines()[0])
