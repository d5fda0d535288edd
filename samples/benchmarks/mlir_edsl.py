"""Benchmark: from a Python function of the mlir dialect to the text of its module, without LLVM.

The function has 100 lines of arithmetic, branches, loops and calls. Measured is what a kernel's first compilation adds:
reading the syntax tree, and building the module, in both builders; medians over many builds in one process.

    python samples/benchmarks/mlir_edsl.py [--json FILE]
"""

from __future__ import annotations

import importlib.util
import math
import statistics
import time
from collections.abc import Callable

import measure

import tle_raw
from tle_raw import InOut, Pointer, Scalar, Tile, mlir
from tle_raw.adapters.mlir.edsl import build, read_function
from tle_raw.fragments.binding import bind_names
from tle_raw.target import parse_target

MOST = 20.0  # milliseconds for 100 lines
TARGET = parse_target("cuda:90")
NAMES = {"M": 64, "N": 64}


@mlir.function
def block_sum(value):
    partial = mlir.shared("f32", 32)
    for step in mlir.static_range(4, -1, -1):
        value += mlir.shuffle_xor(value, 1 << step)
    if mlir.lane_id() == 0:
        partial[mlir.warp_id()] = value
    mlir.barrier()
    total = 0.0
    for warp in range(mlir.block_dim() // 32):
        total += partial[warp]
    mlir.barrier()
    return total


@mlir.function
def clamp(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x


@tle_raw.dialect("mlir")
def normalise(
    t: InOut[Tile["f32", "M", "N"]],
    weight: Pointer["f32"],
    bias: Pointer["f32"],
    statistics_out: InOut[Pointer["f32"]],
    rows: Scalar["i32"],
    epsilon: Scalar["f32"],
    mode: Scalar["i32"],
) -> Scalar["f32"]:
    tid = mlir.thread_id()
    threads = mlir.block_dim()
    lane = mlir.lane_id()
    warp = mlir.warp_id()
    warps = threads // 32

    # The whole tile: mean, variance, largest and smallest value.
    total = 0.0
    squares = 0.0
    largest = -math.inf
    smallest = math.inf
    for i in range(tid, M * N, threads):
        value = t.flat[i]
        total += value
        squares += value * value
        largest = max(largest, value)
        smallest = min(smallest, value)
    mean = block_sum(total) / (M * N)
    variance = block_sum(squares) / (M * N) - mean * mean
    variance = max(variance, 0.0)
    scale = mlir.rsqrt(variance + epsilon)

    # Rows: a warp for each, normalised, weighted, with an activation that the mode names.
    for row in range(warp, M, warps):
        row_total = 0.0
        row_largest = -math.inf
        for column in range(lane, N, 32):
            value = (t[row, column] - mean) * scale
            if mode == 0:
                value = value * weight[column] + bias[column]
            elif mode == 1:
                value = value * weight[column]
            else:
                value = value + bias[column]
            if value > 6.0:
                activated = value
            elif value < -6.0:
                activated = 0.0
            else:
                activated = value / (1.0 + mlir.exp(-value))
            t[row, column] = activated
            row_total += activated
            row_largest = max(row_largest, activated)
        for step in mlir.static_range(5):
            row_total += mlir.shuffle_xor(row_total, 16 >> step)
            row_largest = max(row_largest, mlir.shuffle_xor(row_largest, 16 >> step))
        if lane == 0 and row < rows:
            statistics_out[2 * row] = row_total / N
            statistics_out[2 * row + 1] = row_largest

    # Clip what lies far outside, and count it.
    mlir.barrier()
    limit = 3.0 * mlir.sqrt(variance) + 1.0
    clipped = 0
    i = tid
    while i < M * N:
        value = t.flat[i]
        kept = clamp(value, -limit, limit)
        if kept != value:
            clipped += 1
        t.flat[i] = kept
        i += threads
    mlir.barrier()

    # The first row whose middle is larger than its neighbours.
    found = -1
    for row in range(1, M - 1):
        middle = t[row, N // 2]
        above, below = t[row - 1, N // 2], t[row + 1, N // 2]
        if middle != middle:
            continue
        if middle > above and middle > below:
            found = row
            break
    if found >= 0 and tid == 0:
        mlir.atomic_add(statistics_out, 2 * rows, 1.0)
        for column in range(N):
            if t[found, column] < 0:
                mlir.atomic_max(statistics_out, 2 * rows + 1, float(column))

    spread = largest - smallest
    everything = block_sum(float(clipped)) + block_sum(spread) / threads
    if everything > 1e30:
        mlir.printf("spread %f of %d values\n", spread, M * N)
        everything = 1e30
    return everything


def median(build_once: Callable[[], object], repeats: int) -> float:
    """Milliseconds."""
    build_once()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        build_once()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def main() -> None:
    options = measure.arguments(__doc__.partition("\n")[0])
    source = normalise._source
    bound = bind_names(normalise.signature, NAMES)
    lines = sum(bool(line.strip()) for line in source.text.splitlines())
    operations = build(source, bound, TARGET).text.count(" loc(")
    repeats = 5 if options.quick or options.compile_only else 50

    def both() -> None:
        build(read_function(normalise._declaration), bound, TARGET, "libtriton")

    sides = {
        "read ms": median(lambda: read_function(normalise._declaration), repeats),
        "text ms": median(lambda: build(source, bound, TARGET, "libtriton"), repeats),
    }
    if importlib.util.find_spec("torch_mlir") is not None:
        sides["torch-mlir ms"] = median(lambda: build(source, bound, TARGET, "torch_mlir"), repeats)
    name = "MLIR eDSL: 100 lines of Python to a module's text, without LLVM"
    note = f"measured on {lines} lines, {operations} operations"
    per_100 = median(both, repeats) * 100 / lines
    measure.report("mlir edsl", [measure.Row(name, per_100, "ms", MOST, False, sides, 0.0, note)], options)


if __name__ == "__main__":
    main()
