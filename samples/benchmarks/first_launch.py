"""Seconds to the first launch of CUDA code: from the declaration to machine code, with every cache empty. Needs no GPU.

    python first_launch.py [--json OUT] [--quick]

Each case is declared and compiled in a fresh process, for cuda:90 up to the cubin and for the CPU up to its object. The
clock starts when Triton, torch and tle_raw are imported. Beside the time on the wall stands the processor time of the
process and of all compilers that it ran, which is the figure: on a machine that does nothing else the wall shows no
more, and other programs lengthen the wall's time several times, the processors' hardly.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import first_launch_sources as sources
import measure
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import tle_raw
from tle_raw import Out, Tile

GOAL_CUB_S, GOAL_S = 3.0, 15.0
TARGETS = {"cuda:90": GPUTarget("cuda", 90, 32), "cpu": GPUTarget("cpu", 0, 32)}


@tle_raw.dialect("cuda", source=sources.SUM)
def block_sum(x: Tile["f32", "N"], total: Out[Tile["f32", 1]]): ...


@tle_raw.dialect("cuda", source=sources.SORT)
def block_argsort(x: Tile["f32", "N"], order: Out[Tile["i32", "N"]]): ...


@triton.jit
def sum_kernel(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, 1), block_sum(tl.load(x_ptr + tl.arange(0, N))))


@triton.jit
def argsort_kernel(x_ptr, order_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(order_ptr + i, block_argsort(tl.load(x_ptr + i)))


def _in_kernel(kernel: Any, out: str) -> Callable[[str], Any]:
    def make(target: str) -> Any:
        names = kernel.arg_names
        types = {names[0]: "*fp32", names[1]: out, "N": "constexpr"}
        source = ASTSource(kernel, types, {"N": 1024}, {(i,): [["tt.divisibility", 16]] for i in range(2)})
        return triton.compile(source, target=TARGETS[target])

    return make


def _whole(text: str, symbol: str, block: int) -> Callable[[str], Any]:
    def make(target: str) -> Any:
        return tle_raw.fragment(text, dialect="cuda", symbol=symbol).as_kernel(block=block).compile(target)

    return make


CASES: dict[str, tuple[float, Callable[[str], Any]]] = {
    "a sum of CUB's in a Triton kernel": (GOAL_CUB_S, _in_kernel(sum_kernel, "*fp32")),
    "an argsort of CUB's in a Triton kernel": (GOAL_CUB_S, _in_kernel(argsort_kernel, "*i32")),
    "argsort with all of CUB and host code": (GOAL_S, _whole(sources.WHOLE_CUB, "argsort<128, 8>", 128)),
    "a norm with torch's headers and CUB": (GOAL_S, _whole(sources.TORCH, "rms_norm<c10::Half>", 128)),
    "torch's accessors as parameters": (GOAL_S, _whole(sources.ACCESSORS, "add_rows<float>", 128)),
    "groups, barriers and pipelines": (GOAL_S, _whole(sources.GROUPS, "sums", 128)),
}


def one(name: str, target: str) -> dict[str, float]:
    """Compile a case in this process: seconds on the wall, and of processors."""
    start, used = time.perf_counter(), _processor_seconds()
    compiled = CASES[name][1](target)
    wall, used = time.perf_counter() - start, _processor_seconds() - used
    if not compiled.asm["cubin" if target.startswith("cuda") else "obj"]:
        raise SystemExit(f"{name}: no machine code for {target}")
    return {"wall s": wall, "processors s": used}


def _processor_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


def measured(name: str, target: str, rounds: int, bytecode: str) -> dict[str, float]:
    """Medians over fresh processes, each with empty caches."""
    runs = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            caches = {"TLE_RAW_CACHE_DIR": f"{folder}/own", "TRITON_CACHE_DIR": f"{folder}/triton"}
            # Python's own bytecode, which an installed package has
            python = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
            environment = {**os.environ, **caches, **python, "TLE_RAW_TARGET": target}
            command = [sys.executable, __file__, "--one", name, target]
            run = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
        if run.returncode != 0:
            raise SystemExit(f"{name}, {target}:\n{run.stderr[-2000:]}")
        runs.append(json.loads(run.stdout.splitlines()[-1]))
    return {side: statistics.median(run[side] for run in runs) for side in runs[0]}


def main() -> None:
    if "--one" in sys.argv:
        print(json.dumps(one(*sys.argv[sys.argv.index("--one") + 1 :])))
        return
    options = measure.arguments(__doc__.splitlines()[0])
    rows = []
    with tempfile.TemporaryDirectory() as bytecode:
        for target in TARGETS:
            measured(next(iter(CASES)), target, 1, bytecode)  # not a figure: writes the bytecode
            for name, (goal, _) in CASES.items():
                sides = measured(name, target, 1 if options.quick else 3, bytecode)
                row = measure.Row(f"first launch, {target}: {name}", sides["processors s"], "s", goal, False, sides)
                print(row.line(), flush=True)
                rows.append(row)
                measure.write("first launch", rows, options)


if __name__ == "__main__":
    main()
