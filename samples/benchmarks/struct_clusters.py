"""Kernels of clusters: products with shared copies over the best of single blocks, softmax over two launches."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import compile_only
import measure
import struct_products
import torch
import triton
import triton.language as tl
from struct_samples import sample

PRODUCT_GOAL, SOFTMAX_GOAL = 1.0, 1.3
BUFFERS = 2
# Blocks of a cluster, slots, GROUP_SIZE, groups of warps that multiply, parts, and after how many steps all wait for
# each other, if at all.
NAMES = "CLUSTER_M", "CLUSTER_N", "SLOTS", "GROUP_SIZE", "GROUPS", "PARTS", "EVERY"
TEXT = "{} × {} blocks, {} slots, groups of {}, {} multiply, {} parts, in step every {}"
CLUSTERS = (
    *((2, 1, 4, group, *rest, 0) for group in (4, 8) for rest in ((1, 4), (2, 2), (2, 4))),
    *((2, 1, 3, group, 2, 1, every) for group in (4, 8) for every in (0, 64)),
    (2, 1, 4, 16, 2, 2, 0),
    (2, 1, 3, 8, 2, 1, 16),
    (2, 1, 4, 8, 2, 2, 64),
    *((1, 2, 4, group, 2, 2, 0) for group in (8, 16)),
)
SINGLE = (
    *((128, 256, 4, group, *rest, 0, False) for group in (8, 16) for rest in ((1, 4), (2, 2), (2, 4))),
    *((128, 256, 3, group, 2, 1, every, False) for group in (8, 16) for every in (0, 64)),
    (128, 256, 4, 16, 1, 4, 64, False),
    *((128, 256, *config, True) for config in ((4, 2, 1, 4, 0), (4, 2, 2, 2, 0), (3, 2, 2, 1, 64), (3, 4, 2, 1, 64))),
)
STAYING = ((128, 256, 8, 4, 8, 2), (128, 256, 8, 4, 4, 2))
# Products of models as they are served: 4096 and 8192 tokens by 8 and 70 billion parameters, and others.
SHAPES = (
    (4096, 14336, 4096),
    (4096, 4096, 14336),
    (8192, 28672, 8192),
    (8192, 8192, 28672),
    (16384, 8192, 8192),
    (2048, 8192, 8192),
)
PROGRAMS = (1152, 1280, 1408)  # at most so many, of the softmax
SOFTMAX = ((4096, 32768, torch.bfloat16), (1024, 131072, torch.bfloat16), (2048, 65536, torch.float32))
CHUNKS = (4096, 8192, 16384)


class ClusterProducts(struct_products.Products):
    """``c = a @ b.T`` in bf16, by clusters and by single blocks."""

    def clusters(self, config: tuple[int, ...]) -> measure.Launch:
        sample = self.clustered
        blocks = sample.ONE | dict(zip(NAMES, config))
        return lambda i: sample.launch(self.a[i], self.b[i], self.c[i], blocks)

    @functools.cached_property
    def clustered(self) -> Any:
        return sample("19_cluster_gemm")

    def candidates(self) -> tuple[dict[str, measure.Launch], dict[str, measure.Launch]]:
        clusters = {TEXT.format(*config): self.clusters(config) for config in CLUSTERS}
        single = {struct_products.SPECIALISED_TEXT.format(*config): self.specialised(config) for config in SINGLE}
        names = "persistent {}x{}, {} warps, {} slots, groups of {}, {} parts"
        return clusters, single | {names.format(*config): self.staying(config) for config in STAYING}


class NarrowClusterProducts(struct_products.NarrowProducts):
    """``c = a @ b.T`` in fp8, by clusters and by single blocks: twice the products of a byte that is copied."""

    def clusters(self, config: tuple[int, ...]) -> measure.Launch:
        sample = self.clustered
        blocks = sample.ONE | dict(zip(NAMES, config)) | {"BLOCK_K": 128}
        return lambda i: sample.launch(self.a[i], self.b[i], self.c, blocks)

    @functools.cached_property
    def clustered(self) -> Any:
        return sample("19_cluster_gemm")

    def candidates(self) -> tuple[dict[str, measure.Launch], dict[str, measure.Launch]]:
        return {TEXT.format(*config): self.clusters(config) for config in CLUSTERS}, super().candidates()

    def tflops(self, ms: float) -> float:
        return 2 * self.n**3 / ms / 1e9

    def check(self, name: str, launch: measure.Launch, expected: Any) -> None:
        self.c.fill_(float("nan"))
        launch(0)
        measure.check(name, self.c, expected, 1e-2)


def product_rows(case: ClusterProducts | NarrowClusterProducts, quick: bool) -> list[measure.Row]:
    expected = case.a[0].double() @ case.b[0].double().T
    check = functools.partial(case.check, expected=expected)

    def speed(ms: float) -> str:
        return f"{case.tflops(ms):.1f}"

    print(f"{case.name}: TFLOP/s of all that are right", flush=True)
    clusters, single = (measure.fastest(candidates, check, BUFFERS, speed) for candidates in case.candidates())
    rows = []
    for name, (what, launch) in {"best single block": single, "cuBLAS": ("", case.cublas)}.items():
        times, noise = measure.compare({"clusters": clusters[1], name: launch}, BUFFERS, quick)
        tflops = {f"{side} TFLOP/s": case.tflops(ms) for side, ms in times.items()}
        ratio, goal = times[name] / times["clusters"], PRODUCT_GOAL if what else None
        note = f"{clusters[0]}; {what}" if what else clusters[0]
        rows.append(measure.Row(f"{case.name}: clusters over {name}", ratio, "x", goal, True, tflops, noise, note))
    return rows


@triton.jit
def tops_and_sums(x_ptr, tops, sums, columns, BLOCK: tl.constexpr):
    """The first launch: of each part of a row its largest element and its sum of exponentials."""
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    i = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + i, mask=i < columns, other=float("-inf")).to(tl.float32)
    top = tl.maximum(tl.max(x, 0), -3.0e38)
    place = row * tl.num_programs(1) + part
    tl.store(tops + place, top)
    tl.store(sums + place, tl.sum(tl.exp(x - top), 0))


@triton.jit
def normalised(x_ptr, y_ptr, tops, sums, columns, parts, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    """The second one."""
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    p, i = tl.arange(0, PARTS), part * BLOCK + tl.arange(0, BLOCK)
    found = tl.load(tops + row * parts + p, mask=p < parts, other=-3.0e38)
    highest = tl.max(found, 0)
    whole = tl.sum(tl.load(sums + row * parts + p, mask=p < parts, other=0.0) * tl.exp(found - highest), 0)
    x = tl.load(x_ptr + row * columns + i, mask=i < columns, other=float("-inf")).to(tl.float32)
    y = tl.exp(x - highest) / whole
    tl.store(y_ptr + row * columns + i, y.to(y_ptr.dtype.element_ty), mask=i < columns)


class Softmax:
    """Of long rows."""

    def __init__(self, rows: int, columns: int, dtype: Any, device: str = "cuda") -> None:
        self.name = f"softmax of {rows} rows of {columns} {str(dtype).removeprefix('torch.')}"
        self.x = [torch.randn(rows, columns, device=device).to(dtype) for _ in range(BUFFERS)]
        self.y = torch.empty_like(self.x[0])
        self.tops, self.sums = (torch.empty(rows, columns // min(CHUNKS), device=device) for _ in range(2))
        self.sample = sample("20_cluster_softmax")

    def clusters(self, blocks: int, programs: int) -> measure.Launch:
        return lambda i: self.sample.launch(self.x[i], self.y, blocks, programs)

    def two_launches(self, block: int) -> measure.Launch:
        rows, columns = self.y.shape
        parts = triton.cdiv(columns, block)
        warps = block // 1024

        def launch(i: int) -> object:
            tops_and_sums[(rows, parts)](self.x[i], self.tops, self.sums, columns, block, num_warps=warps)
            return normalised[(rows, parts)](
                self.x[i], self.y, self.tops, self.sums, columns, parts, block, triton.next_power_of_2(parts),
                num_warps=warps,
            )  # fmt: skip

        return launch

    def torch(self, i: int) -> object:
        return torch.softmax(self.x[i], 1, out=self.y)


def softmax_rows(case: Softmax, quick: bool) -> list[measure.Row]:
    expected = torch.softmax(case.x[0].double(), 1)
    unit = 1e-5 if case.y.dtype == torch.float32 else 4e-3

    def check(name: str, launch: measure.Launch) -> None:
        case.y.fill_(float("nan"))
        launch(0)
        measure.check(name, case.y, expected, unit)

    moved = 2 * case.y.numel() * case.y.element_size()

    def speed(ms: float) -> str:
        return f"{moved / ms / 1e6:.0f}"

    print(f"{case.name}: GB/s, as if each element moved once in and once out", flush=True)
    columns = case.y.shape[1]
    sizes = [blocks for blocks in (2, 4, 8) if columns // blocks <= max(CHUNKS)]
    ours = {
        f"{blocks} blocks, {programs} programs": case.clusters(blocks, programs)
        for blocks in sizes
        for programs in PROGRAMS
    }
    theirs = {f"parts of {block}": case.two_launches(block) for block in CHUNKS}
    sides: dict[str, tuple[str, measure.Launch]] = {
        "two launches": measure.fastest(theirs, check, BUFFERS, speed),
        "torch": ("", case.torch),
    }
    best = measure.fastest(ours, check, BUFFERS, speed)
    rows = []
    for name, (what, launch) in sides.items():
        times, noise = measure.compare({"clusters": best[1], name: launch}, BUFFERS, quick)
        shown = {f"{side} GB/s": moved / ms / 1e6 for side, ms in times.items()}
        ratio, goal = times[name] / times["clusters"], SOFTMAX_GOAL if what else None
        note = f"{best[0]}; {what}" if what else best[0]
        rows.append(measure.Row(f"{case.name}: clusters over {name}", ratio, "x", goal, True, shown, noise, note))
    return rows


def compile_everything() -> None:
    compile_only.install()
    product = ClusterProducts(512, "cpu")
    for candidates in product.candidates():
        for launch in candidates.values():
            launch(0)
    narrow = NarrowClusterProducts(512, "cpu")
    for launch in narrow.candidates()[0].values():
        launch(0)
    softmax = Softmax(2, 32768, torch.bfloat16, "cpu")
    for blocks in (2, 8):
        softmax.clusters(blocks, PROGRAMS[0])(0)
    for block in CHUNKS:
        softmax.two_launches(block)(0)


GROUPS: dict[str, tuple[list[Callable[[], Any]], Callable[[Any, bool], list[measure.Row]]]] = {
    "products": ([functools.partial(ClusterProducts, n) for n in (4096, 8192)], product_rows),
    "shapes": ([functools.partial(ClusterProducts, sizes) for sizes in SHAPES], product_rows),
    "narrow": ([functools.partial(NarrowClusterProducts, n) for n in (4096, 8192, 16384)], product_rows),
    "softmax": ([functools.partial(Softmax, *sizes) for sizes in SOFTMAX], softmax_rows),
}


def main() -> None:
    options = measure.arguments(__doc__.splitlines()[0], list(GROUPS))
    torch.manual_seed(0)
    if options.compile_only:
        compile_everything()
        return
    rows, failed = [], []
    for group in [options.only] if options.only else GROUPS:
        found, wrong = measure.rows_of_all(*GROUPS[group], options.quick)
        rows, failed = rows + found, failed + wrong
    measure.write("kernels of clusters" + (f", {options.only}" if options.only else ""), rows, options)
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
