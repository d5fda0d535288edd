"""All-reduce, all-gather and reduce-scatter between two GPUs of one host: tle_raw.distributed against NCCL, in bf16.

Both sides are captured in CUDA graphs of several calls, run alternately, and give the same numbers first. A time is the
median of bursts, of the slower GPU. NVLink's multicast is off on both sides. With ``--explore`` the kernels for large
tensors are launched in several ways.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import measure
import torch
import torch.distributed as dist
import two_gpus
from two_gpus import WORLD

from tle_raw.distributed import context
from tle_raw.distributed.collectives import Collectives, Shape

SIZES = [8 << 10, 64 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20]
EXPLORED = [256 << 10, 1 << 20, 4 << 20, 64 << 20, 256 << 20]
SHAPES = [Shape(64, 16384), Shape(128, 8192), Shape(128, 16384), Shape(256, 8192), Shape(256, 16384, 16)]
SMALL_GOAL, LARGE_GOAL = 1.5, 1.1  # times as fast as NCCL, below 1 MB and from there on
Call = Callable[[], Any]


class Case:
    """One operation on so many bytes, which are a member's result of a sum, and all that is gathered."""

    def __init__(self, operation: str, size: int, own: Any, rank: int) -> None:
        self.operation, self.size, self.rank = operation, size, rank
        n = size // 2
        self.inputs = n // WORLD if operation == "all_gather" else n
        self.outputs = n // WORLD if operation == "reduce_scatter" else n
        self.x = own.empty(self.inputs, torch.bfloat16)
        self.out = own.empty(self.outputs, torch.bfloat16)

    def nccl(self) -> None:
        if self.operation == "all_reduce":
            dist.all_reduce(self.x)
        elif self.operation == "all_gather":
            dist.all_gather_into_tensor(self.out, self.x)
        else:
            dist.reduce_scatter_tensor(self.out, self.x)

    def ours(self, collectives: Collectives, in_place: bool = False) -> None:
        if self.operation == "all_reduce":
            collectives.all_reduce(self.x, None if in_place else self.out)
        else:
            getattr(collectives, self.operation)(self.x, self.out)

    def check(self, call: Call, in_place: bool) -> None:
        """Against float64, on random data."""
        values = [
            torch.randn(self.inputs, device="cuda", generator=torch.Generator("cuda").manual_seed(rank)).bfloat16()
            for rank in range(WORLD)
        ]
        self.x.copy_(values[self.rank])
        self.out.zero_()
        call()
        torch.cuda.synchronize()
        found = self.x if in_place else self.out
        for at in range(0, found.numel(), 1 << 24):  # float64 of all of it would fill the card
            part = slice(at, min(at + (1 << 24), found.numel()))
            torch.testing.assert_close(found[part].double(), self._expected(values, part), rtol=8e-3, atol=8e-3)
        dist.barrier()
        self.x.zero_()

    def _expected(self, values: list[torch.Tensor], part: slice) -> torch.Tensor:
        if self.operation == "all_gather":
            return torch.cat(values)[part].double()
        start = self.rank * self.outputs if self.operation == "reduce_scatter" else 0
        return sum(value[start + part.start : start + part.stop].double() for value in values)  # type: ignore[return-value]


def graph_of(call: Call, calls: int) -> torch.cuda.CUDAGraph:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    dist.barrier()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # NCCL has threads of its own
        for _ in range(calls):
            call()
    return graph


def burst(graph: torch.cuda.CUDAGraph, replays: int) -> float:
    """Milliseconds of one replay, after a pause and a meeting."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    time.sleep(measure.PAUSE)
    dist.barrier()
    graph.replay()
    begin.record()
    for _ in range(replays):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / replays


def compare(sides: dict[str, Call], size: int, bursts: int) -> dict[str, float]:
    """Milliseconds of one call of each side: medians of bursts, of the slower GPU."""
    calls = 20 if size <= 1 << 20 else 5 if size <= 16 << 20 else 2
    graphs = {name: graph_of(call, calls) for name, call in sides.items()}
    first = torch.tensor([burst(graph, 1) for graph in graphs.values()], device="cuda")
    dist.broadcast(first, 0)
    replays = [max(1, min(50, round(measure.BURST / ms))) for ms in first.tolist()]
    times = torch.tensor(
        [[burst(graph, n) for graph, n in zip(graphs.values(), replays, strict=True)] for _ in range(bursts)],
        device="cuda",
    )
    dist.all_reduce(times, op=dist.ReduceOp.MAX)
    medians = [statistics.median(column) / calls for column in times.T.tolist()]
    return dict(zip(graphs, medians, strict=True))


def rows_of(operation: str, size: int, own: Any, rank: int, options: argparse.Namespace) -> list[measure.Row]:
    """What one operation takes, each way that it may go."""
    own.reset()
    case = Case(operation, size, own, rank)
    explored = options.explore and size in EXPLORED
    ways: dict[str, tuple[Call, bool]] = {"NCCL": (case.nccl, operation == "all_reduce")}
    piece = size if operation == "all_reduce" else size // WORLD
    if piece <= 256 << 10:
        ways["tiny"] = partial(case.ours, Collectives(own, tiny=1 << 18, small=0)), False
    if piece <= 1 << 20:
        ways["small"] = partial(case.ours, Collectives(own, tiny=0, small=1 << 20)), False
    if piece >= 256 << 10:
        for shape in SHAPES if explored else [Shape()]:
            large = Collectives(own, tiny=0, small=0, shape=shape)
            name = f" {shape.programs}x{shape.tile_bytes >> 10}K" if explored else ""
            ways["large" + name] = partial(case.ours, large), False
            if operation == "all_reduce":
                ways["two steps" + name] = partial(case.ours, large, True), True
    for call, in_place in ways.values():
        case.check(call, in_place)
    if options.check:
        return []
    times = compare({name: call for name, (call, _) in ways.items()}, size, 3 if options.quick else 5)
    best = min((name for name in times if name != "NCCL"), key=times.__getitem__)
    moved = size * (2 * (WORLD - 1) / WORLD if operation == "all_reduce" else (WORLD - 1) / WORLD)
    note = f"{best}, {moved / times[best] / 1e6:.0f} GB/s against {moved / times['NCCL'] / 1e6:.0f}"
    label = f"{operation} {size >> 10} KB" if size < 1 << 20 else f"{operation} {size >> 20} MB"
    goal = SMALL_GOAL if size < 1 << 20 else LARGE_GOAL
    microseconds = {name: 1e3 * ms for name, ms in times.items()}
    return [measure.Row(label, times["NCCL"] / times[best], "x", goal, True, microseconds, note=note)]


def member(rank: int, options: argparse.Namespace) -> list[measure.Row]:
    rows = []
    with context(bytes=1 << 30, memory=options.memory) as own:
        for operation in ("all_reduce", "all_gather", "reduce_scatter"):
            for size in options.sizes or SIZES:
                found = rows_of(operation, size, own, rank, options)
                rows += found
                if rank == 0 and found:
                    print("\n".join(row.line() for row in found), flush=True)
        own.check()
    return rows


def main() -> None:
    quick, explore = "fewer repetitions, to see that it works", "several ways of launching the kernels"
    parser = two_gpus.arguments(__doc__, quick, explore)
    parser.add_argument("--memory", default="torch", choices=["torch", "ipc"])
    parser.add_argument("--sizes", type=int, nargs="*", help="bytes, instead of 8 KB to 256 MB")
    two_gpus.run("collectives", parser, member)


if __name__ == "__main__":
    main()
