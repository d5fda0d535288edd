"""Kernels on the CPU against NumPy's and torch's operators: vector add, softmax, layer norm, matmul, attention.

The first three only move memory: their goal is the time in which a copy on all cores moves as many bytes, between the
same arrays. Each of these arrays is twice as large as the caches of the last level; where that is more than 64 MiB, a
second row without a goal tells what happens at 64 MiB, in the cache. torch and the kernels run on all cores; NumPy runs
its elementwise operators on one, its matmul on all. Results go into arrays that are there already. Compile times are
those that Triton's compilation listener tells, stage by stage.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import measure
import numpy as np
import torch
import triton

import tle_raw
from tle_raw.targets.cpu.caches import last_level_bytes

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "triton_on_cpu"))
import arrays

GOAL_MEMORY, GOAL_MATMUL = 1.2, 0.5
CORES = len(os.sched_getaffinity(0))
ROWS, COLUMNS = 4096, 4096  # 64 MiB in each array
ARRAYS = 8  # that a benchmark holds at once: all may take half of the memory
HEADS, LENGTH, WIDTH = 8, 1024, 64
SIZE = 1024
NORM_BLOCK = 512
MATMUL_BLOCKS = (128, 128, 128, 8)
ATTENTION_BLOCKS = (64, 64)

Side = Callable[[], object]


# OpenMP's threads spin for up to this long after a call of torch's, on the cores that the next side needs.
SPINNING = 0.25
BLOCK, BLOCK_SECONDS = 20, 2.0  # calls in a row: after the pause cores wake up over several calls


def compare(sides: dict[str, Side], quick: bool) -> tuple[dict[str, float], float]:
    """Median milliseconds of a call, the sides in alternating blocks; and half the spread of their middle halves."""
    calls: dict[str, list[float]] = {name: [] for name in sides}
    lengths: dict[str, int] = {}
    for name, side in sides.items():
        side()
        start = time.perf_counter()
        side()
        lengths[name] = max(3, min(BLOCK, int(BLOCK_SECONDS / (time.perf_counter() - start))))
    for round_ in range(1 if quick else 3):
        for name in sides if round_ % 2 else reversed(sides):
            time.sleep(SPINNING)
            sides[name]()
            for _ in range(lengths[name]):
                start = time.perf_counter()
                sides[name]()
                calls[name].append(1e3 * (time.perf_counter() - start))
    noise = max((np.quantile(c, 0.75) - np.quantile(c, 0.25)) / 2 / statistics.median(c) for c in calls.values())
    return {name: statistics.median(values) for name, values in calls.items()}, float(noise)


class Copy:
    """A plain copy, cut into one piece for each core: what memory can do."""

    def __init__(self, source: Any, target: Any):
        self.source, self.target = source.numpy().reshape(-1), target.numpy().reshape(-1)
        self.bytes_moved = self.source.nbytes + self.target.nbytes
        self.pool = ThreadPoolExecutor(CORES)

    def __call__(self) -> None:
        pieces = zip(np.array_split(self.target, CORES), np.array_split(self.source, CORES), strict=True)
        list(self.pool.map(lambda piece: np.copyto(*piece), pieces))


def row_counts() -> list[int]:
    """Rows of arrays that no cache holds, as far as the memory goes; and of ones that a large cache does."""
    rows, line = ROWS, 4 * COLUMNS
    most = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // (2 * ARRAYS * line)
    while rows * line < 2 * last_level_bytes() and 2 * rows <= most:
        rows *= 2
    return [rows] if rows == ROWS else [rows, ROWS]


def memory_row(name: str, sides: dict[str, Side], copy: Copy, bytes_moved: int, quick: bool) -> measure.Row:
    times, noise = compare({"kernel": sides["kernel"], "copy": copy, **sides}, quick)
    times["copy"] *= bytes_moved / copy.bytes_moved
    speed = {side: bytes_moved / ms / 1e6 for side, ms in times.items()}
    array, cache = copy.source.nbytes, last_level_bytes()
    sizes = f"arrays of {array >> 20} MiB, last cache {cache >> 20} MiB"
    note = f"{sizes}, kernel {speed['kernel']:.1f} GB/s, copy {speed['copy']:.1f} GB/s, {_against(times)}"
    shown = {f"{side} ms": ms for side, ms in times.items()}
    goal = GOAL_MEMORY if array > cache else None
    where = "time over a copy's" + ("" if array > cache else ", in the last cache")
    return measure.Row(f"{name}: {where}", times["kernel"] / times["copy"], "x", goal, False, shown, noise, note)


def _against(times: dict[str, float]) -> str:
    return ", ".join(
        f"{side}'s time {times[side] / times['kernel']:.2f}x" for side in ("torch", "NumPy") if side in times
    )


def vector_add(rows: int, quick: bool) -> measure.Row:
    sample = arrays.load("01_vector_add")
    size = rows * COLUMNS
    x, y, out, expected = (torch.rand(size) for _ in range(4))
    x_, y_, out_ = x.numpy(), y.numpy(), expected.numpy()
    sides = {
        "kernel": lambda: sample.add(x, y, 1 << 14, out),
        "torch": lambda: torch.add(x, y, out=expected),
        "NumPy": lambda: np.add(x_, y_, out=out_),
    }
    _run_and_check("vector add", sides, out, lambda at: x[at].double() + y[at].double(), 1e-7)
    return memory_row(f"vector add, {size >> 20} Mi f32", sides, Copy(x, out), 3 * 4 * size, quick)


def softmax(rows: int, quick: bool) -> measure.Row:
    sample = arrays.load("02_softmax")
    x, out, expected = (torch.randn(rows, COLUMNS) for _ in range(3))
    x_, out_ = x.numpy(), expected.numpy()

    def by_numpy() -> None:
        np.subtract(x_, x_.max(axis=1, keepdims=True), out=out_)
        np.exp(out_, out=out_)
        np.divide(out_, out_.sum(axis=1, keepdims=True), out=out_)

    sides = {
        "kernel": lambda: sample.softmax(x, rows, out),
        "torch": lambda: torch.softmax(x, 1, out=expected),
        "NumPy": by_numpy,
    }
    _run_and_check("softmax", sides, out, lambda at: torch.softmax(x[at].double(), 1), 1e-6)
    return memory_row(f"softmax of {rows} rows of {COLUMNS} f32", sides, Copy(x, out), 2 * 4 * x.numel(), quick)


def layer_norm(rows: int, quick: bool) -> measure.Row:
    sample = arrays.load("05_layer_norm")
    x, out, expected = (torch.randn(rows, COLUMNS) for _ in range(3))
    weight, bias = torch.rand(COLUMNS), torch.rand(COLUMNS)
    mean, rstd = torch.zeros(rows, 1), torch.zeros(rows, 1)
    x_, out_, weight_, bias_ = x.numpy(), expected.numpy(), weight.numpy(), bias.numpy()

    def by_torch() -> None:
        torch.ops.aten.native_layer_norm.out(x, [COLUMNS], weight, bias, 1e-5, out0=expected, out1=mean, out2=rstd)

    def by_numpy() -> None:
        np.subtract(x_, x_.mean(axis=1, keepdims=True), out=out_)
        variance = np.einsum("ij,ij->i", out_, out_)[:, None] / COLUMNS
        np.multiply(out_, 1 / np.sqrt(variance + 1e-5), out=out_)
        np.multiply(out_, weight_, out=out_)
        np.add(out_, bias_, out=out_)

    sides = {
        "kernel": lambda: sample.layer_norm(x, weight, bias, 1e-5, NORM_BLOCK, out),
        "torch": by_torch,
        "NumPy": by_numpy,
    }

    def want(at: slice) -> Any:
        return torch.nn.functional.layer_norm(x[at].double(), [COLUMNS], weight.double(), bias.double())

    _run_and_check("layer norm", sides, out, want, 1e-6)
    return memory_row(f"layer norm of {rows} rows of {COLUMNS} f32", sides, Copy(x, out), 2 * 4 * x.numel(), quick)


def matmul(quick: bool) -> measure.Row:
    sample = arrays.load("03_matmul")
    a, b, c, expected = (torch.randn(SIZE, SIZE) for _ in range(4))
    a_, b_, c_ = a.numpy(), b.numpy(), np.zeros((SIZE, SIZE), np.float32)
    sides = {
        "kernel": lambda: sample.matmul(a, b, "", MATMUL_BLOCKS, c),
        "torch": lambda: torch.mm(a, b, out=expected),
        "NumPy": lambda: np.matmul(a_, b_, out=c_),
    }
    _run_and_check("matmul", sides, c, lambda at: a[at].double() @ b.double(), 1e-6)
    times, noise = compare(sides, quick)
    note = f"kernel {2 * SIZE**3 / times['kernel'] / 1e6:.0f} GFLOP/s, {_against(times)}"
    shown = {f"{side} ms": ms for side, ms in times.items()}
    ratio = times["torch"] / times["kernel"]
    return measure.Row(f"matmul {SIZE}^3 f32: speed over torch's", ratio, "x", GOAL_MATMUL, True, shown, noise, note)


def attention(causal: bool, quick: bool) -> measure.Row:
    sample = arrays.load("06_attention")
    q, k, v = (torch.randn(1, HEADS, LENGTH, WIDTH) for _ in range(3))
    sides = {
        "kernel": lambda: sample.attention(q, k, v, causal, None, ATTENTION_BLOCKS),
        "torch": lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal),
    }
    want, _ = sample.reference(q, k, v, causal)
    measure.check(
        "attention", sample.attention(q, k, v, causal, None, ATTENTION_BLOCKS)[0], torch.from_numpy(want), 1e-5
    )
    times, noise = compare(sides, quick)
    shown = {f"{side} ms": ms for side, ms in times.items()}
    name = f"attention{', causal' * causal}, {HEADS} heads of {LENGTH} x {WIDTH} f32: speed over torch's"
    return measure.Row(name, times["torch"] / times["kernel"], "x", None, True, shown, noise)


def _run_and_check(name: str, sides: dict[str, Side], out: Any, want: Callable[[slice], Any], most: float) -> None:
    """All elements, piece by piece: float64 takes twice the memory."""
    out.fill_(float("nan"))
    sides["kernel"]()
    piece = -(-len(out) // max(1, out.nbytes >> 26))
    for start in range(0, len(out), piece):
        at = slice(start, start + piece)
        measure.check(name, out[at], want(at), most)


def compile_times(quick: bool) -> list[measure.Row]:
    """Each kernel from its Python source to host code in memory, with all caches off."""
    small = [torch.randn(1, 1, 64, WIDTH) for _ in range(3)]
    row, square = torch.randn(64, COLUMNS), torch.randn(256, 256)
    weight = torch.ones(COLUMNS)
    launches: dict[str, Side] = {
        "vector add": lambda: arrays.load("01_vector_add").add(row[0], row[1], 1 << 14),
        "softmax": lambda: arrays.load("02_softmax").softmax(row),
        "layer norm": lambda: arrays.load("05_layer_norm").layer_norm(row, weight, weight, 1e-5, NORM_BLOCK),
        "matmul": lambda: arrays.load("03_matmul").matmul(square, square, "", MATMUL_BLOCKS),
        "attention": lambda: arrays.load("06_attention").attention(*small, True, None, ATTENTION_BLOCKS),
    }
    return [_compile_time(name, launch, 1 if quick else 5) for name, launch in launches.items()]


def _compile_time(name: str, launch: Side, times: int) -> measure.Row:
    found: list[dict[str, float]] = []

    def listen(**event: Any) -> None:
        stages = {stage: us / 1e3 for stage, us in event["times"].lowering_stages}
        found.append({"front end": event["times"].ir_initialization / 1e3, **stages})

    knobs = triton.knobs.compilation
    before = knobs.listener, knobs.always_compile
    knobs.listener, knobs.always_compile = listen, True
    try:
        for _ in range(times):
            launch()  # a kernel that is loaded anew is compiled anew
    finally:
        knobs.listener, knobs.always_compile = before
    stages = {f"{stage} ms": statistics.median(f[stage] for f in found) for stage in found[0]}
    return measure.Row(f"compile, {name}", sum(stages.values()), "ms", None, False, stages)


def main() -> None:
    options = measure.arguments(__doc__.splitlines()[0])
    tle_raw.knobs.target = "cpu"
    torch.manual_seed(0)
    memory = [(of, rows) for of in (vector_add, softmax, layer_norm) for rows in row_counts()]
    rows = [] if options.compile_only else [
        *(of(rows, options.quick) for of, rows in memory),
        matmul(options.quick),
        attention(False, options.quick),
        attention(True, options.quick),
    ]  # fmt: skip
    measure.report("operators on the CPU", rows + compile_times(options.quick), options)


if __name__ == "__main__":
    main()
