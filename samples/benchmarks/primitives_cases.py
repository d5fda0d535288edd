"""What ``primitives_speed.py`` measures: each function with its sides, and whether their numbers are right.

Every program has one tile: it loads, calls, stores.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measure
import primitives_cub as cub
import primitives_triton as plain
import torch
import triton.language as tl

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "intrinsics"))
import primitive_kernels as kernels
from from_source import primitives

BUFFERS = 4
WARPS = 8
THREADS = 32 * WARPS
Outputs = dict[str, list[torch.Tensor]]


@dataclass
class Case:
    """One function. A side launches by its outputs; ``right`` ends the program where these are wrong."""

    name: str
    sides: dict[str, Callable[[int], Any]]
    right: Callable[[str, int], None]
    against: str = "CUB"
    note: str = ""


class Data:
    """Inputs and outputs of a case: each side has its own outputs, each buffer set its own inputs."""

    def __init__(self, device: str, tiles: int) -> None:
        self.device, self.tiles = device, tiles

    def random(self, shape: tuple[int, ...], dtype: torch.dtype) -> list[torch.Tensor]:
        if dtype.is_floating_point:
            return [torch.randn((self.tiles, *shape), device=self.device).to(dtype) for _ in range(BUFFERS)]
        size = (self.tiles, *shape)
        if dtype == torch.uint8:
            return [torch.randint(0, 256, size, device=self.device, dtype=dtype) for _ in range(BUFFERS)]
        words = (torch.randint(-(2**31), 2**31, size, device=self.device, dtype=torch.int32) for _ in range(BUFFERS))
        return [word.view(dtype) for word in words]

    def outputs(self, shape: tuple[int, ...], dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {
            side: torch.zeros((self.tiles, *shape), dtype=dtype, device=self.device)
            for side in ("ours", "CUB", "Triton")
        }


def _unsigned(x: torch.Tensor) -> torch.Tensor:
    return x.view(torch.int32).long() & 0xFFFFFFFF if x.dtype == torch.uint32 else x


def same(name: str, got: torch.Tensor, wanted: torch.Tensor) -> None:
    if not torch.equal(got, wanted):
        raise SystemExit(f"{name}: {(got != wanted).double().mean().item():.2%} of the numbers are wrong")


def scan(data: Data, make: Callable[[str], Any], inclusive: bool, n: int = 2048) -> Case:
    x, y = data.random((n,), torch.float32), data.outputs((n,), torch.float32)
    what = "Inclusive" if inclusive else "Exclusive"
    ours = kernels.in_place(primitives.inclusive_sum if inclusive else primitives.exclusive_sum)
    standing = {
        f"CUB{name}": make(cub.source(cub.SCAN, "float", n, THREADS, what=what, move=move))
        for name, move in (("", "WARP_TRANSPOSE"), (" vectorised", "VECTORIZE"))
    }
    grid = (data.tiles,)
    sides = {"ours": lambda b: ours[grid](x[b], y["ours"], None, None, N=n, num_warps=WARPS)}
    sides |= {
        name: lambda b, kernel=kernel: kernel(data.tiles, THREADS, x[b], y["CUB"]) for name, kernel in standing.items()
    }
    if inclusive:
        sides["Triton"] = lambda b: plain.scan[grid](x[b], y["Triton"], N=n, num_warps=WARPS)

    def right(side: str, b: int) -> None:
        wanted = x[b].double().cumsum(1)
        measure.check(f"scan, {side}", y[side.split()[0]], wanted if inclusive else wanted - x[b].double(), 1e-6)

    return Case(f"{what.lower()} sum of {n} f32", sides, right)


def row_scan(data: Data, make: Callable[[str], Any]) -> Case:
    x, y = data.random((32, 128), torch.float32), data.outputs((32, 128), torch.float32)
    ours, kernel = (
        kernels.in_place_rows(primitives.row_inclusive_sum),
        make(cub.source(cub.ROW_SCAN, "float", 4096, THREADS)),
    )
    grid, sizes = (data.tiles,), {"M": 32, "N": 128, "num_warps": WARPS}
    sides = {
        "ours": lambda b: ours[grid](x[b], y["ours"], None, None, **sizes),
        "CUB": lambda b: kernel(data.tiles, THREADS, x[b], y["CUB"]),
        "Triton": lambda b: plain.row_scan[grid](x[b], y["Triton"], **sizes),
    }
    return Case(
        "scans of rows of 128 f32 by warps",
        sides,
        lambda side, b: measure.check(f"row scan, {side}", y[side], x[b].double().cumsum(2), 1e-6),
    )


def reduce(data: Data, make: Callable[[str], Any], n: int = 4096) -> Case:
    x, y = data.random((n,), torch.float32), data.outputs((), torch.float32)
    ours, kernel = kernels.reduced(primitives.block_sum), make(cub.source(cub.REDUCE, "float", n, THREADS))
    grid = (data.tiles,)
    sides = {
        "ours": lambda b: ours[grid](x[b], y["ours"], None, None, N=n, num_warps=WARPS),
        "CUB": lambda b: kernel(data.tiles, THREADS, x[b], y["CUB"]),
        "Triton": lambda b: plain.reduce[grid](x[b], y["Triton"], N=n, num_warps=WARPS),
    }
    return Case(
        f"sum of {n} f32", sides, lambda side, b: measure.check(f"sum, {side}", y[side], x[b].double().sum(1), 1e-6)
    )


def row_reduce(data: Data, make: Callable[[str], Any]) -> Case:
    x, y = data.random((32, 128), torch.float32), data.outputs((32,), torch.float32)
    ours, kernel = kernels.reduced_rows(primitives.row_sum), make(cub.source(cub.ROW_REDUCE, "float", 4096, THREADS))
    grid, sizes = (data.tiles,), {"M": 32, "N": 128, "num_warps": WARPS}
    sides = {
        "ours": lambda b: ours[grid](x[b], y["ours"], None, None, **sizes),
        "CUB": lambda b: kernel(data.tiles, THREADS, x[b], y["CUB"]),
        "Triton": lambda b: plain.row_reduce[grid](x[b], y["Triton"], **sizes),
    }
    return Case(
        "sums of rows of 128 f32 by warps",
        sides,
        lambda side, b: measure.check(f"row sums, {side}", y[side], x[b].double().sum(2), 1e-6),
    )


def sort(data: Data, make: Callable[[str], Any], dtype: str, which: str, n: int = 2048) -> Case:
    types = {
        "u32": (torch.uint32, "unsigned"),
        "f32": (torch.float32, "float"),
        "u16": (torch.uint16, "unsigned short"),
    }
    kind, cxx = types[dtype]
    x = data.random((n,), kind) if dtype != "u16" else [
        t[..., : n // 2].contiguous().view(torch.uint16) for t in data.random((n,), torch.uint32)
    ]  # fmt: skip
    y, grid = data.outputs((n,), kind), (data.tiles,)
    ours, kernel = kernels.sorted_keys(getattr(primitives, which)), make(cub.source(cub.SORT, cxx, n, THREADS))
    sides = {
        "ours": lambda b: ours[grid](x[b], y["ours"], DESCENDING=0, N=n, num_warps=WARPS),
        "CUB": lambda b: kernel(data.tiles, THREADS, x[b], y["CUB"]),
        "Triton": lambda b: plain.sort[grid](x[b], y["Triton"], N=n, num_warps=WARPS),
    }

    def numbers(t: torch.Tensor) -> torch.Tensor:
        return t.view(torch.int16).long() & 0xFFFF if dtype == "u16" else _unsigned(t)

    def right(side: str, b: int) -> None:
        same(f"{which}, {side}", numbers(y[side]), numbers(x[b]).sort(dim=1).values)

    return Case(f"{which} of {n} {dtype}", sides, right, note="CUB: radix sort")


def sort_pairs(data: Data, make: Callable[[str], Any], which: str, n: int = 2048) -> Case:
    x, v = data.random((n,), torch.uint32), data.random((n,), torch.int32)
    y, w, grid = data.outputs((n,), torch.uint32), data.outputs((n,), torch.int32), (data.tiles,)
    ours, kernel = (
        kernels.sorted_pairs(getattr(primitives, which)),
        make(cub.source(cub.SORT_PAIRS, "unsigned", n, THREADS)),
    )
    sides = {
        "ours": lambda b: ours[grid](x[b], v[b], y["ours"], w["ours"], DESCENDING=0, N=n, num_warps=WARPS),
        "CUB": lambda b: kernel(data.tiles, THREADS, x[b], v[b], y["CUB"], w["CUB"]),
    }

    def right(side: str, b: int) -> None:
        keys, order = _unsigned(x[b]).sort(dim=1, stable=True)
        same(f"{which} of pairs, {side}", _unsigned(y[side]), keys)
        if which == "radix_sort":
            same(f"values of {which}, {side}", w[side], v[b].gather(1, order))

    return Case(f"{which} of {n} u32 with i32", sides, right)


def merge(data: Data, make: Callable[[str], Any], n: int = 2048) -> Case:
    x = [_unsigned(t).view(-1, 2, n // 2).sort(dim=2).values.view(-1, n) for t in data.random((n,), torch.uint32)]
    x = [t.to(torch.int32).view(torch.uint32) for t in x]
    y, grid = data.outputs((n,), torch.uint32), (data.tiles,)
    ours, kernel = kernels.sorted_keys(primitives.bitonic_merge), make(cub.source(cub.SORT, "unsigned", n, THREADS))
    sides = {
        "ours": lambda b: ours[grid](x[b], y["ours"], DESCENDING=0, N=n, num_warps=WARPS),
        "CUB": lambda b: kernel(data.tiles, THREADS, x[b], y["CUB"]),
    }
    return Case(
        f"bitonic_merge of 2 x {n // 2} u32",
        sides,
        lambda side, b: same(f"merge, {side}", _unsigned(y[side]), _unsigned(x[b]).sort(dim=1).values),
        note="CUB: radix sort, it merges none",
    )


def row_sort(data: Data, make: Callable[[str], Any]) -> Case:
    x, y = data.random((32, 128), torch.uint32), data.outputs((32, 128), torch.uint32)
    ours, kernel = kernels.sorted_rows(primitives.row_sort), make(cub.source(cub.ROW_SORT, "unsigned", 4096, THREADS))
    grid, sizes = (data.tiles,), {"M": 32, "N": 128, "num_warps": WARPS}
    sides = {
        "ours": lambda b: ours[grid](x[b], y["ours"], DESCENDING=0, **sizes),
        "CUB": lambda b: kernel(data.tiles, THREADS, x[b], y["CUB"]),
        "Triton": lambda b: plain.row_sort[grid](x[b], y["Triton"], **sizes),
    }
    return Case(
        "row_sort of rows of 128 u32 by warps",
        sides,
        lambda side, b: same(f"row sort, {side}", _unsigned(y[side]), _unsigned(x[b]).sort(dim=2).values),
        note="CUB: merge sort of a warp",
    )


def topk(data: Data, make: Callable[[str], Any], n: int = 2048, kept: int = 32) -> Case:
    x, y, w = data.random((n,), torch.float32), data.outputs((kept,), torch.float32), data.outputs((kept,), torch.int32)
    ours, kernel = kernels.selected(primitives.topk), make(cub.source(cub.TOPK, "float", n, THREADS, kept=kept))
    grid = (data.tiles,)
    sides = {
        "ours": lambda b: ours[grid](x[b], y["ours"], w["ours"], None, None, N=n, KEPT=kept, num_warps=WARPS),
        "CUB": lambda b: kernel(data.tiles, THREADS, x[b], y["CUB"], w["CUB"]),
        "Triton": lambda b: plain.topk[grid](x[b], y["Triton"], N=n, KEPT=kept, num_warps=WARPS),
    }

    def right(side: str, b: int) -> None:
        values, places = x[b].sort(dim=1, descending=True, stable=True)
        same(f"topk, {side}", y[side], values[:, :kept])
        if side != "Triton":
            same(f"places of topk, {side}", w[side], places[:, :kept].int())

    return Case(f"topk, {kept} of {n} f32", sides, right, note="CUB: radix sort of pairs; Triton: values alone")


def histogram(data: Data, make: Callable[[str], Any], n: int = 8192) -> Case:
    x, y = data.random((n,), torch.uint8), data.outputs((256,), torch.int32)
    ours = kernels.counted(primitives.histogram)
    kernel = make(cub.source(cub.HISTOGRAM, "unsigned char", n, THREADS, how="ATOMIC"))
    grid = (data.tiles,)
    sides = {
        "ours": lambda b: ours[grid](x[b], y["ours"], None, None, N=n, BINS=256, num_warps=WARPS),
        "CUB": lambda b: kernel(data.tiles, THREADS, x[b], y["CUB"]),
        "Triton": lambda b: plain.histogram[grid](x[b], y["Triton"], N=n, BINS=256, num_warps=WARPS),
    }

    def right(side: str, b: int) -> None:
        places = torch.arange(data.tiles, device=data.device)[:, None] * 256 + x[b].long()
        counts = torch.bincount(places.view(-1), minlength=256 * data.tiles).view(-1, 256)
        same(f"histogram, {side}", y[side], counts.int())

    return Case(f"histogram of {n} u8", sides, right)


def histogram_in_memory(data: Data, make: Callable[[str], Any], n: int = 8192) -> Case:
    """The form that reads the numbers where they lie: nothing of them crosses to the region through shared memory."""
    case = histogram(data, make, n)
    x, y = data.random((n,), torch.uint8), data.outputs((256,), torch.int32)
    ours, grid = kernels.counted_in_memory(primitives.histogram), (data.tiles,)

    def right(side: str, b: int) -> None:
        if side != "ours":
            case.right(side, b)
            return
        places = torch.arange(data.tiles, device=data.device)[:, None] * 256 + x[b].long()
        counts = torch.bincount(places.view(-1), minlength=256 * data.tiles).view(-1, 256)
        same("histogram in memory", y["ours"], counts.int())

    mine = {"ours": lambda b: ours[grid](x[b], y["ours"], n, N=n, BINS=256, num_warps=WARPS)}
    return Case(f"histogram of {n} u8 in memory", case.sides | mine, right)


def convert(data: Data, make: Callable[[str], Any], name: str, n: int = 4096) -> Case:
    x = data.random((n,), torch.bfloat16)
    length = n // 2 if name == "e2m1" else n
    kind = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "e2m1": torch.uint8}[name]
    y, grid = data.outputs((length,), kind), (data.tiles,)
    function = getattr(primitives, f"to_{name}")
    ours = kernels.converted_to_half(function) if name == "e2m1" else kernels.converted(function)
    sizes = {"N": n, "L": length, "Q": tl.uint8, "num_warps": WARPS}
    sides = {"ours": lambda b: ours[grid](x[b], y["ours"].view(torch.uint8), **sizes)}
    if name != "e2m1":
        sides["Triton"] = lambda b: plain.convert[grid](x[b], y["Triton"], N=n, num_warps=WARPS)

    def right(side: str, b: int) -> None:
        if name == "e2m1":
            codes = torch.stack([y[side] & 15, y[side] >> 4], -1).view(-1, n).long()
            table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6.0], device=data.device)
            got, bounds = torch.where(codes > 7, -1, 1) * table[codes & 7], (table[1:] + table[:-1]) / 2
            wanted = table[torch.bucketize(x[b].float().abs(), bounds)] * x[b].float().sign()
            tie = torch.isin(x[b].float().abs(), bounds)
            same(f"e2m1, {side}", torch.where(tie, 0, got), torch.where(tie, 0, wanted))
        else:
            same(f"{name}, {side}", y[side].view(torch.uint8), x[b].to(kind).view(torch.uint8))

    return Case(f"to_{name} of bf16", sides, right, "Triton" if name != "e2m1" else "")


def random(data: Data, make: Callable[[str], Any], n: int = 4096) -> Case:
    y, grid = data.outputs((n,), torch.float32), (data.tiles,)
    ours = kernels.filled(primitives.fill_uniform)
    sides = {
        "ours": lambda b: ours[grid](y["ours"], 2**40 + b, 0, N=n, num_warps=WARPS),
        "Triton": lambda b: plain.random[grid](y["Triton"], 2**40 + b, N=n, num_warps=WARPS),
    }

    def right(side: str, b: int) -> None:
        mean = y[side].double().mean().item()
        if not abs(mean - 0.5) < 1e-3:
            raise SystemExit(f"random numbers, {side}: the mean is {mean}")

    return Case("fill_uniform, f32", sides, right, "Triton")


def random_in_memory(data: Data, make: Callable[[str], Any], n: int = 4096) -> Case:
    """The form that writes where the numbers shall lie; they are those of the form with a tile."""
    y, grid = data.outputs((n,), torch.float32), (data.tiles,)
    ours, in_tiles = kernels.filled_memory(primitives.fill_uniform), kernels.filled(primitives.fill_uniform)
    sides = {
        "ours": lambda b: ours[grid](y["ours"], 2**40 + b, 0, N=n, n=n, num_warps=WARPS),
        "Triton": lambda b: plain.random[grid](y["Triton"], 2**40 + b, N=n, num_warps=WARPS),
    }

    def right(side: str, b: int) -> None:
        if side == "ours":
            in_tiles[grid](y["CUB"], 2**40 + b, 0, N=n, num_warps=WARPS)
            same("random numbers in memory", y["ours"], y["CUB"])

    return Case("fill_uniform in memory, f32", sides, right, "Triton")


def cases(data: Callable[[int], Data], make: Callable[[str], Any]) -> Iterator[tuple[str, Callable[[], Case]]]:
    """``data(bytes)`` has as many tiles of so many bytes as an input shall have. A case is named by what makes it."""
    yield "scan", lambda: scan(data(8192), make, True)
    yield "scan", lambda: scan(data(8192), make, False)
    yield "row_scan", lambda: row_scan(data(16384), make)
    yield "reduce", lambda: reduce(data(16384), make)
    yield "row_reduce", lambda: row_reduce(data(16384), make)
    yield "sort", lambda: sort(data(8192), make, "u32", "radix_sort")
    yield "sort", lambda: sort(data(8192), make, "f32", "radix_sort")
    yield "sort", lambda: sort(data(8192), make, "u16", "radix_sort")
    yield "sort_pairs", lambda: sort_pairs(data(8192), make, "radix_sort")
    yield "sort", lambda: sort(data(8192), make, "u32", "bitonic_sort")
    yield "merge", lambda: merge(data(8192), make)
    yield "row_sort", lambda: row_sort(data(16384), make)
    yield "topk", lambda: topk(data(8192), make)
    yield "histogram", lambda: histogram(data(8192), make)
    yield "histogram_in_memory", lambda: histogram_in_memory(data(8192), make)
    for name in ("e4m3", "e5m2", "e2m1"):
        yield "convert", lambda name=name: convert(data(8192), make, name)
    yield "random", lambda: random(data(16384), make)
    yield "random_in_memory", lambda: random_in_memory(data(16384), make)
