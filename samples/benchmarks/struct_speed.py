"""Kernels of TLE-Struct against the best of plain Triton, cuBLAS and cuDNN: products, loads, counts, attention."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import compile_only
import measure
import struct_attention
import struct_attention_backward
import struct_grouped
import struct_kernels as plain
import struct_mla
import struct_norm
import struct_selection
import torch
import triton
import triton.language as tl
from struct_products import NarrowProducts, Products, narrow_rows, product_rows
from struct_samples import sample

import tle_raw.language as tle

LOADS_GOAL = 1.7
BUFFERS = 2
PROGRAMS, ROWS, BLOCK = 264, 300, 1024
VALUES = 69 * 2**20
# BLOCK, warps, programs for each processor.
COUNTING = ((1024, 4, 8), (2048, 4, 8), (4096, 8, 8), (4096, 8, 4), (8192, 8, 4))
# And of ours: how many histograms lie side by side, and whether values are loaded a turn ahead.
OUR_COUNTING = (
    *((*config, 1, ahead) for config in (*COUNTING, (1024, 8, 8), (2048, 4, 16)) for ahead in (False, True)),
    *((block, 8, 4, copies, True) for block in (2048, 4096) for copies in (4, 8, 32)),
    *((2048, 8, 8, copies, True) for copies in (1, 4, 8)),
)


@triton.jit
def asynchronous_sum(x_ptr, o_ptr, count, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    """``sum_of_exponentials`` with loads that the loop starts iterations before."""
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in tl.range(count, num_stages=STAGES):
        total += tl.exp(tle.load(x_ptr + (tl.program_id(0) * count + row) * BLOCK + i, is_async=True))
    tl.store(o_ptr + tl.program_id(0) * BLOCK + i, total)


class Loads:
    """Sums over rows, each loaded in a loop of its own."""

    name = "loads in a loop"

    def __init__(self, device: str = "cuda") -> None:
        self.x = [torch.randn(PROGRAMS, ROWS, BLOCK, device=device) for _ in range(BUFFERS)]
        self.o = torch.empty(PROGRAMS, BLOCK, device=device)

    def plain(self, i: int) -> object:
        return plain.sum_of_exponentials[(PROGRAMS,)](self.x[i], self.o, ROWS, BLOCK, num_warps=4)

    def asynchronous(self, stages: int) -> measure.Launch:
        return lambda i: asynchronous_sum[(PROGRAMS,)](self.x[i], self.o, ROWS, BLOCK, stages, num_warps=4)


def load_rows(case: Loads, quick: bool) -> list[measure.Row]:
    expected = case.x[0].double().exp().sum(1)

    def check(name: str, launch: measure.Launch) -> None:
        case.o.fill_(float("nan"))
        launch(0)
        measure.check(name, case.o, expected, 1e-5)

    check("plain", case.plain)
    candidates = {f"{stages} stages": case.asynchronous(stages) for stages in (3, 4, 5, 6)}
    name, best = measure.fastest(candidates, check, BUFFERS)
    times, noise = measure.compare({"asynchronous": best, "plain": case.plain}, BUFFERS, quick)
    sides = {f"{side} ms": ms for side, ms in times.items()}
    what = "loads in a loop: is_async over plain"
    return [measure.Row(what, times["plain"] / times["asynchronous"], "x", LOADS_GOAL, True, sides, noise, name)]


class Histogram:
    """How often each of ``bins`` numbers stands among 69 × 2²⁰, all of them equally likely."""

    def __init__(self, bins: int, values: int = VALUES, device: str = "cuda") -> None:
        self.bins, self.name = bins, f"histogram of {bins} bins"
        self.x = [torch.randint(bins, (values,), dtype=torch.int32, device=device) for _ in range(BUFFERS)]
        self.counts = torch.empty(bins, dtype=torch.int32, device=device)
        self.shared = sample("05_histogram").histogram
        self.processors = torch.cuda.get_device_properties(0).multi_processor_count if device == "cuda" else 132

    def launch(self, kernel: Any, block: int, warps: int, programs: int, *more: int) -> measure.Launch:
        options = dict(zip(("COPIES", "AHEAD"), more))

        def run(i: int) -> object:
            self.counts.zero_()
            x = self.x[i]
            grid = (self.processors * programs,)
            return kernel[grid](x, self.counts, x.numel(), BINS=self.bins, BLOCK=block, **options, num_warps=warps)

        return run

    def candidates(self) -> list[dict[str, measure.Launch]]:
        names = "blocks of {}, {} warps, {} programs a processor"
        more = names + ", {} copies, ahead: {}"
        return [
            {more.format(*config): self.launch(self.shared, *config) for config in OUR_COUNTING},
            {names.format(*config): self.launch(plain.histogram, *config) for config in COUNTING},
        ]


def histogram_rows(case: Histogram, quick: bool) -> list[measure.Row]:
    expected = torch.bincount(case.x[0], minlength=case.bins)

    def check(name: str, launch: measure.Launch) -> None:
        case.counts.fill_(-1)
        launch(0)
        measure.check(name, case.counts, expected, 0.0)

    ours, others = (measure.fastest(candidates, check, BUFFERS) for candidates in case.candidates())
    times, noise = measure.compare({"ours": ours[1], "Triton": others[1]}, BUFFERS, quick)
    goal = 2.8 if triton.__version__.startswith("3.6") else 1.0
    sides = {f"{side} ms": ms for side, ms in times.items()}
    what, note = f"{case.name}: local_ptr over tl.histogram", f"ours {ours[0]}; tl.histogram {others[0]}"
    return [measure.Row(what, times["Triton"] / times["ours"], "x", goal, True, sides, noise, note)]


def compile_all() -> None:
    compile_only.install()
    for candidates in Products(512, "cpu").candidates():
        for launch in candidates.values():
            launch(0)
    for launch in NarrowProducts(512, "cpu").candidates().values():
        launch(0)
    loads = Loads("cpu")
    loads.plain(0), loads.asynchronous(4)(0)
    align, select = sample("07_moe_align"), sample("08_topk_selector")
    selections = struct_selection.Align(align, 1024, 64, "cpu"), struct_selection.Select(select, 64, 2**15, "cpu")
    norm = struct_norm.Norm(sample("17_rms_norm_gemm"), 256, 512, 512, "cpu")
    grouped = struct_grouped.Grouped(
        sample("10_moe_grouped_gemm"), struct_grouped.Sizes(256, 8, 2, 512, 512), device="cpu"
    )
    for case in (Histogram(256, 2**14, "cpu"), norm, grouped, *selections):
        for candidates in case.candidates():
            for launch in candidates.values():
                launch(0)
    for case in (struct_mla.Decode(sample, 2, 256, device="cpu"), struct_mla.Sparse(sample, 2, 256, 128, device="cpu")):
        for candidates in case.candidates():
            for launch in candidates.values():
                launch(0)
    for make in struct_attention.makers(functools.partial(sample, "12_attention"), "cpu", 256):
        for launch in make().candidates().values():
            launch(0)
    for make in struct_attention_backward.makers(functools.partial(sample, "14_attention_backward"), "cpu", 256):
        for launch in make().all_candidates():
            launch(0)


# Groups of figures: what makes their cases, and the rows of one case.
GROUPS: dict[str, tuple[Callable[[], list[Callable[[], Any]]], Callable[[Any, bool], list[measure.Row]]]] = {
    "products": (lambda: [functools.partial(Products, n) for n in (4096, 8192)], product_rows),
    "fp8": (lambda: [functools.partial(NarrowProducts, n) for n in (4096, 8192)], narrow_rows),
    "loads": (lambda: [Loads], load_rows),
    "histograms": (lambda: [functools.partial(Histogram, bins) for bins in (256, 1024)], histogram_rows),
    "attention": (lambda: struct_attention.makers(functools.partial(sample, "12_attention")), struct_attention.rows_of),
    "latent": (lambda: struct_mla.decodes(sample), struct_mla.rows_of),
    "sparse": (lambda: struct_mla.sparse_ones(sample), struct_mla.rows_of),
    "norm": (lambda: struct_norm.makers(sample), struct_norm.rows_of),
    "experts": (lambda: struct_grouped.makers(sample), struct_grouped.rows_of),
    "models": (lambda: struct_grouped.models(sample), struct_grouped.rows_of),
    "gradients": (
        lambda: struct_attention_backward.makers(functools.partial(sample, "14_attention_backward")),
        struct_attention_backward.rows_of,
    ),
    "alignments": (lambda: struct_selection.alignments(sample), struct_selection.rows_of),
    "selections": (lambda: struct_selection.selections(sample), struct_selection.rows_of),
}


def main() -> None:
    options = measure.arguments(__doc__.splitlines()[0], list(GROUPS))
    torch.manual_seed(0)
    if options.compile_only:
        compile_all()
        return
    rows, failed = [], []
    for group in [options.only] if options.only else GROUPS:
        makers, rows_of = GROUPS[group]
        found, wrong = measure.rows_of_all(makers(), rows_of, options.quick)
        rows += found
        failed += wrong
        if group in ("experts", "models") and found:
            rows.append(struct_grouped.mean_of(found))
            print(rows[-1].line(), flush=True)
    name = "kernels of TLE-Struct" + (f", {options.only}" if options.only else "")
    measure.report(name, rows, options)
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
