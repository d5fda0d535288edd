"""Kernels of TLE-Struct against the best of plain Triton, cuBLAS and cuDNN: products, loads, counts, attention."""

from __future__ import annotations

import functools
import importlib.util
import math
from collections.abc import Callable
from pathlib import Path
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
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw.language as tle

LOADS_GOAL = 1.7
PRODUCT_GOALS = {"Triton": 1.0, "cuBLAS": 1.01}
NARROW_GOAL = 0.98
BUFFERS = 2
# BLOCK_M, BLOCK_N, warps, slots, GROUP_M; and for plain Triton stages.
OURS = ((128, 256, 8, 4, 4), (128, 256, 8, 4, 8), (128, 256, 8, 4, 16), (128, 256, 8, 3, 8), (128, 128, 4, 3, 8))
# And in how many parts a tile is written, by programs that stay.
STAYING = (
    *((128, 256, 8, slots, group, 2) for slots in (3, 4) for group in (4, 8, 16)),
    *((256, 128, 8, slots, group, 2) for slots in (3, 4) for group in (8, 16)),
    (128, 256, 8, 3, 8, 1),
)
# BLOCK_M, BLOCK_N, slots, GROUP_SIZE, groups of warps that multiply, parts, after how many steps programs wait for each
# other, if at all, and whether neighbours lie beside each other: of kernels with a warp that copies.
SPECIALISED_NAMES = "BLOCK_M", "BLOCK_N", "SLOTS", "GROUP_SIZE", "GROUPS", "PARTS", "EVERY", "BESIDE"
SPECIALISED_TEXT = "specialised {}x{}, {} slots, groups of {}, {} multiply, {} parts, in step every {}, beside: {}"
SPECIALISED = (
    *((128, 256, 4, group, groups, parts, 0, False) for group in (4, 8, 16) for groups in (1, 2) for parts in (2, 4)),
    *((128, 256, 3, group, 2, 1, every, False) for group in (8, 16) for every in (0, 64)),
    (128, 256, 4, 16, 1, 4, 64, False),
    *((128, 256, *config, True) for config in ((4, 2, 1, 4, 0), (4, 2, 2, 2, 0), (3, 2, 2, 1, 64), (3, 4, 2, 1, 64))),
)
# BLOCK_M, BLOCK_N, slots, GROUP_M: of groups of warps that take turns.
IN_TURNS = ((128, 128, 4, 8), (128, 128, 5, 8), (128, 128, 4, 16), (64, 256, 4, 8), (64, 256, 4, 16))
PLAIN = ((128, 256, 8, 3, 8), (128, 256, 8, 4, 8), (128, 256, 8, 4, 16), (256, 128, 8, 3, 8), (128, 128, 4, 3, 8))
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


def sample(name: str) -> Any:
    file = Path(__file__).parents[1] / "tle_struct" / f"{name}.py"
    found = importlib.util.spec_from_file_location(name[3:], file)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def descriptor(x: Any, rows: int, columns: int) -> TensorDescriptor:
    return TensorDescriptor(x, list(x.shape), [x.stride(0), 1], [rows, columns])


class Products:
    """``c = a @ b.T`` in bf16, by every way. ``sizes``: rows and columns of c, and length of the sums; or all three."""

    def __init__(self, sizes: int | tuple[int, int, int], device: str = "cuda") -> None:
        self.sizes = m, n, k = sizes if isinstance(sizes, tuple) else (sizes,) * 3
        self.name = f"bf16 product of {m} × {n} × {k}" if isinstance(sizes, tuple) else f"bf16 product of {m}³"
        self.a, self.b = (
            [torch.randn(rows, k, device=device).to(torch.bfloat16) for _ in range(BUFFERS)] for rows in (m, n)
        )
        self.c = [torch.empty(m, n, device=device, dtype=torch.bfloat16) for _ in range(BUFFERS)]
        self.sample, self.specialising = sample("02_tma_gemm"), sample("09_warp_specialized_gemm")
        self.taking_turns = sample("13_ping_pong_gemm")
        self.processors = torch.cuda.get_device_properties(0).multi_processor_count if device == "cuda" else 132

    def tiles(self, rows: int, columns: int) -> int:
        return triton.cdiv(self.sizes[0], rows) * triton.cdiv(self.sizes[1], columns)

    def tflops(self, ms: float) -> float:
        return 2 * math.prod(self.sizes) / ms / 1e9

    def ours(self, config: tuple[int, ...]) -> measure.Launch:
        rows, columns, warps, slots, group = config

        def launch(i: int) -> object:
            a, b, c = self.a[i], self.b[i], self.c[i]
            taken = descriptor(a, rows, 64), descriptor(b, columns, 64), descriptor(c, rows, columns)
            grid = (self.tiles(rows, columns),)
            sizes = {"BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": 64, "SLOTS": slots, "GROUP_M": group}
            return self.sample.matmul[grid](*taken, *self.sizes, **sizes, num_warps=warps)

        return launch

    def staying(self, config: tuple[int, ...]) -> measure.Launch:
        rows, columns, warps, slots, group, parts = config

        def launch(i: int) -> object:
            a, b, c = self.a[i], self.b[i], self.c[i]
            taken = descriptor(a, rows, 64), descriptor(b, columns, 64), descriptor(c, rows, columns // parts)
            tiles = self.tiles(rows, columns)
            grid = (plain.sharing(tiles, self.processors),)
            sizes = {"BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": 64, "SLOTS": slots, "GROUP_M": group}
            persistent = self.sample.persistent_matmul
            return persistent[grid](*taken, *self.sizes, **sizes, PARTS=parts, num_warps=warps)

        return launch

    def specialised(self, config: tuple[int, ...]) -> measure.Launch:
        blocks = dict(zip(SPECIALISED_NAMES, config)) | {"BLOCK_K": 64}
        return lambda i: self.specialising.launch(self.a[i], self.b[i], self.c[i], blocks, self.processors)

    def in_turns(self, config: tuple[int, ...]) -> measure.Launch:
        blocks = dict(zip(("BLOCK_M", "BLOCK_N", "SLOTS", "GROUP_M"), config)) | {"BLOCK_K": 128}
        return lambda i: self.taking_turns.launch(self.a[i], self.b[i], self.c[i], self.processors, blocks)

    def triton(self, kernel: Any, config: tuple[int, ...]) -> measure.Launch:
        rows, columns, warps, stages, group = config
        halves = columns == 256

        def launch(i: int) -> object:
            a, b, c = self.a[i], self.b[i], self.c[i]
            out = columns // 2 if halves else columns
            taken = descriptor(a, rows, 64), descriptor(b, columns, 64), descriptor(c, rows, out)
            tiles = self.tiles(rows, columns)
            grid = (plain.sharing(tiles, self.processors) if kernel is plain.persistent else tiles,)
            sizes = {"BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": 64, "GROUP_M": group, "HALVES": halves}
            return kernel[grid](*taken, *self.sizes, **sizes, num_warps=warps, num_stages=stages)

        return launch

    def cublas(self, i: int) -> object:
        return torch.mm(self.a[i], self.b[i].T, out=self.c[i])

    def candidates(self) -> tuple[dict[str, measure.Launch], dict[str, measure.Launch]]:
        ours = {"{}x{}, {} warps, {} slots, groups of {}".format(*config): self.ours(config) for config in OURS}
        ours |= {
            "persistent {}x{}, {} warps, {} slots, groups of {}, {} parts".format(*config): self.staying(config)
            for config in STAYING
        }
        ours |= {SPECIALISED_TEXT.format(*config): self.specialised(config) for config in SPECIALISED}
        ours |= {"in turns {}x{}, {} slots, groups of {}".format(*config): self.in_turns(config) for config in IN_TURNS}
        others = {
            f"{kernel.fn.__name__} " + "{}x{}, {} warps, {} stages, groups of {}".format(*config): self.triton(
                kernel, config
            )
            for kernel in (plain.persistent, plain.one_tile)
            for config in PLAIN
        }
        return ours, others

    def check(self, name: str, launch: measure.Launch, expected: Any) -> None:
        self.c[0].fill_(float("nan"))
        launch(0)
        measure.check(name, self.c[0], expected, 4e-3)


def product_rows(case: Products, quick: bool) -> list[measure.Row]:
    expected = case.a[0].double() @ case.b[0].double().T
    check = functools.partial(case.check, expected=expected)
    check("cuBLAS", case.cublas)
    ours, others = (measure.fastest(candidates, check, BUFFERS) for candidates in case.candidates())
    del expected
    sides = {"ours": ours[1], "Triton": others[1], "cuBLAS": case.cublas}
    rows = []
    for reference in ("Triton", "cuBLAS"):
        times, noise = measure.compare({"ours": sides["ours"], reference: sides[reference]}, BUFFERS, quick)
        speed = {name: case.tflops(ms) for name, ms in times.items()}
        note = f"ours {ours[0]}" + (f"; {others[0]}" if reference == "Triton" else "")
        name = f"{case.name}: TMA and wgmma over {'the best plain Triton' if reference == 'Triton' else reference}"
        tflops = {f"{side} TFLOP/s": value for side, value in speed.items()}
        rows.append(
            measure.Row(
                name, speed["ours"] / speed[reference], "x", PRODUCT_GOALS[reference], True, tflops, noise, note
            )
        )
    return rows


class NarrowProducts:
    """``c = a @ b.T`` of n × n in fp8 (e4m3) into bf16, by specialised warps, and by cuBLAS."""

    def __init__(self, n: int, device: str = "cuda") -> None:
        self.n, self.name = n, f"fp8 product of {n}³"
        self.a, self.b = (
            [torch.randn(n, n, device=device).to(torch.float8_e4m3fn) for _ in range(BUFFERS)] for _ in range(2)
        )
        self.c = torch.empty(n, n, device=device, dtype=torch.bfloat16)
        self.one = torch.ones((), device=device)
        self.sample, self.specialising = sample("13_ping_pong_gemm"), sample("09_warp_specialized_gemm")
        self.processors = torch.cuda.get_device_properties(0).multi_processor_count if device == "cuda" else 132

    def ours(self, config: tuple[int, ...]) -> measure.Launch:
        blocks = dict(zip(("BLOCK_M", "BLOCK_N", "SLOTS", "GROUP_M"), config)) | {"BLOCK_K": 128}
        return lambda i: self.sample.launch(self.a[i], self.b[i], self.c, self.processors, blocks)

    def cublas(self, i: int) -> object:
        options = {"out_dtype": torch.bfloat16, "use_fast_accum": True, "out": self.c}
        return torch._scaled_mm(self.a[i], self.b[i].T, self.one, self.one, **options)

    def specialised(self, config: tuple[int, ...]) -> measure.Launch:
        blocks = dict(zip(SPECIALISED_NAMES, config)) | {"BLOCK_K": 128}
        return lambda i: self.specialising.launch(self.a[i], self.b[i], self.c, blocks, self.processors)

    def candidates(self) -> dict[str, measure.Launch]:
        found = {"in turns {}x{}, {} slots, groups of {}".format(*config): self.ours(config) for config in IN_TURNS}
        return found | {SPECIALISED_TEXT.format(*config): self.specialised(config) for config in SPECIALISED}


def narrow_rows(case: NarrowProducts, quick: bool) -> list[measure.Row]:
    expected = case.a[0].double() @ case.b[0].double().T

    def check(name: str, launch: measure.Launch) -> None:
        case.c.fill_(float("nan"))
        launch(0)
        measure.check(name, case.c, expected, 1e-2)

    check("cuBLAS", case.cublas)
    print(f"{case.name}: TFLOP/s of all that are right", flush=True)
    name, best = measure.fastest(case.candidates(), check, BUFFERS, lambda ms: f"{2 * case.n**3 / ms / 1e9:.1f}")
    times, noise = measure.compare({"ours": best, "cuBLAS": case.cublas}, BUFFERS, quick)
    tflops = {f"{side} TFLOP/s": 2 * case.n**3 / ms / 1e9 for side, ms in times.items()}
    what = f"{case.name}: specialised warps over cuBLAS"
    return [measure.Row(what, times["cuBLAS"] / times["ours"], "x", NARROW_GOAL, True, tflops, noise, name)]


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
