"""Products in bf16 and fp8: kernels of TLE-Struct, the best of plain Triton, and cuBLAS."""

from __future__ import annotations

import functools
import math
from typing import Any

import measure
import struct_kernels as plain
import torch
import triton
from struct_samples import sample
from triton.tools.tensor_descriptor import TensorDescriptor

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
