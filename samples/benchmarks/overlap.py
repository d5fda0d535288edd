"""Products that meet other GPUs' data in one kernel, against cuBLAS and NCCL one after the other. Two GPUs, bf16.

Samples 21 and 22: all-gather and product, product and reduce-scatter, product and all-reduce. Numbers are compared
first. Times are medians of bursts, of the slower GPU, both sides alternating. NVLink's multicast is off on both sides.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import measure
import torch
import torch.distributed as dist
import two_gpus
from struct_samples import sample
from two_gpus import WORLD

from tle_raw.distributed import context

GOAL = 1.15
GATHERED = [(8192, 4096, 8192), (8192, 8192, 8192), (16384, 3584, 8192)]
SCATTERED = [(8192, 8192, 4096), (8192, 4096, 4096), (16384, 8192, 3584)]
FETCHERS = [8, 16, 24, 32]
Call = Callable[[], Any]


class Gathered:
    """``a @ b.T``, where each GPU has half of the rows of ``a``."""

    def __init__(self, own: Any, rank: int, sizes: tuple[int, int, int], **changed: int) -> None:
        M, N, K = sizes
        self.own, self.launches, self.changed = own, 0, changed
        self.kernels = sample("21_all_gather_gemm")
        self.a = own.empty((M, K), torch.bfloat16)
        self.shard = self.a[: M // WORLD]
        self.shard.copy_(_random(M // WORLD, K, rank))
        self.b, self.whole = _random(N, K, 7), torch.empty(M, K, dtype=torch.bfloat16, device="cuda")
        self.c, self.want = (torch.empty(M, N, dtype=torch.bfloat16, device="cuda") for _ in range(2))

    def communication(self) -> None:
        dist.all_gather_into_tensor(self.whole, self.shard)

    def product(self) -> None:
        torch.matmul(self.whole, self.b.T, out=self.want)

    def one_by_one(self) -> None:
        self.communication()
        self.product()

    def fused(self) -> None:
        self.launches += 1
        self.kernels.launch(self.own, WORLD, self.a, self.b, self.c, self.launches, **self.changed)


class Scattered:
    """``a @ b.T``, where each GPU has half of the columns of both, and gets half of the rows, or all, of the sum."""

    def __init__(self, own: Any, rank: int, sizes: tuple[int, int, int], whole: bool) -> None:
        M, N, K = sizes
        self.own, self.all, self.launches = own, whole, 0
        self.kernels = sample("22_gemm_reduce_scatter")
        self.a, self.b = _random(M, K, rank), _random(N, K, 10 + rank)
        self.staging = own.empty((2 * M, N), torch.bfloat16)
        self.c = own.empty((M if whole else M // WORLD, N), torch.bfloat16)
        self.partial, self.want = torch.empty(M, N, dtype=torch.bfloat16, device="cuda"), torch.empty_like(self.c)

    def product(self) -> None:
        torch.matmul(self.a, self.b.T, out=self.partial)

    def communication(self) -> None:
        if self.all:
            dist.all_reduce(self.partial)
        else:
            dist.reduce_scatter_tensor(self.want, self.partial)

    def one_by_one(self) -> None:
        self.product()
        self.communication()
        if self.all:
            self.want = self.partial

    def fused(self) -> None:
        self.launches += 1
        self.kernels.launch(self.own, WORLD, self.a, self.b, self.staging, self.c, self.launches, self.all)


def _random(rows: int, columns: int, seed: int) -> torch.Tensor:
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.randn(rows, columns, device="cuda", generator=generator).bfloat16()


def check(case: Gathered | Scattered) -> None:
    """Both sides in several launches, against each other: sums of both are rounded to bf16 once or twice."""
    case.one_by_one()
    for _ in range(3):
        case.c.fill_(float("nan"))
        torch.cuda.synchronize()
        dist.barrier()
        case.fused()
        torch.cuda.synchronize()
        case.own.check()
        dist.barrier()
        far = (case.c.float() - case.want.float()).abs().max().item() / case.want.float().abs().max().item()
        if not far < 2**-7:
            raise AssertionError(f"{type(case).__name__}: {far} of the largest element is off")


def burst(call: Call, times: int) -> float:
    """Milliseconds of one call, after a pause and a meeting."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    time.sleep(measure.PAUSE)
    dist.barrier()
    call()
    begin.record()
    for _ in range(times):
        call()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / times


def compare(sides: dict[str, Call], bursts: int) -> dict[str, float]:
    """Milliseconds of one call of each side: medians of bursts, of the slower GPU."""
    times = torch.tensor([[burst(call, 5) for call in sides.values()] for _ in range(bursts)], device="cuda")
    dist.all_reduce(times, op=dist.ReduceOp.MAX)
    return dict(zip(sides, (statistics.median(column) for column in times.T.tolist()), strict=True))


def rows_of(
    what: str, rank: int, sizes: tuple[int, int, int], options: argparse.Namespace, **changed: int
) -> list[Any]:
    """One kind and size: numbers, then times."""
    with context(bytes=1 << 30, blocks=8192, slots=4096, time_limit=10.0) as own:
        if what == "all-gather + GEMM":
            case: Gathered | Scattered = Gathered(own, rank, sizes, **changed)
        else:
            case = Scattered(own, rank, sizes, what == "GEMM + all-reduce")
        check(case)
        if options.check:
            return []
        sides = {"fused": case.fused, "one by one": case.one_by_one}
        if not changed:
            sides |= {"cuBLAS": case.product, "NCCL": case.communication}
        times = compare(sides, 3 if options.quick or changed else 5)
        own.check()
        torch.cuda.synchronize()
        dist.barrier()
        flops = 2.0 * sizes[0] * sizes[1] * sizes[2]
        note = f"{flops / times['fused'] / 1e9:.0f} TFLOP/s {changed or ''}".strip()
        name = f"{what} {'x'.join(map(str, sizes))}"
        goal = None if changed or what == "GEMM + all-reduce" else GOAL
        microseconds = {f"{side} us": 1e3 * ms for side, ms in times.items()}
        del case
        return [measure.Row(name, times["one by one"] / times["fused"], "x", goal, True, microseconds, note=note)]


def member(rank: int, options: argparse.Namespace) -> list[measure.Row]:
    cases: list[tuple[str, tuple[int, int, int], dict[str, int]]] = []
    for sizes in GATHERED[: 1 if options.quick else None]:
        cases.append(("all-gather + GEMM", sizes, {}))
    for sizes in SCATTERED[: 1 if options.quick else None]:
        cases += [("GEMM + reduce-scatter", sizes, {}), ("GEMM + all-reduce", sizes, {})]
    if options.explore:
        cases += [("all-gather + GEMM", GATHERED[0], {"FETCHERS": count}) for count in FETCHERS]
        cases += [
            ("all-gather + GEMM", GATHERED[0], {"TILE_M": 64}),
            ("all-gather + GEMM", GATHERED[0], {"PIECE": 1024}),
        ]
    rows = []
    for what, sizes, changed in cases:
        found = rows_of(what, rank, sizes, options, **changed)
        rows += found
        if rank == 0:
            print("\n".join(row.line() for row in found) or f"{what} {sizes} {changed}: right", flush=True)
    return rows


def main() -> None:
    quick, explore = "fewer sizes and repetitions, to see that it works", "several ways of fetching"
    two_gpus.run("overlap", two_gpus.arguments(__doc__, quick, explore), member)


if __name__ == "__main__":
    main()
