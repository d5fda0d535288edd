"""Compile time: a kernel with its fragment in the cache against the kernel without the region; a cold fragment.

Needs no GPU: triton.compile for cuda:90, Triton's own cache off. Warm figures are medians of processor time over
alternating compiles in one process: the region, the same work written in Triton, and neither. What remains when the
region's call is taken out of its TTGIR is Triton's own price of bringing the tile to shared memory and back: no region
that takes a tile costs less. A cold fragment is
declared and compiled in a fresh process with an empty cache: what it takes beyond the foreign compiler's own time is
tle_raw's. The first cold figure has everything that a process does once.
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
from pathlib import Path
from typing import Any

import measure
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import tle_raw
from tle_raw import InOut, Pointer, Scalar, Tile

GOAL_WARM, GOAL_COLD_S = 1.1, 1.0
WRAPPED = ("ttgir", "llir", "ptx")  # the stages that tle_raw joins

EPILOGUE = r"""
#include <tle_raw/tile.h>
template <int M, int N> __device__ void bias_relu(tle::tile<float, M, N> c, const float* bias) {
  for (int i : c.indices()) c[i] = fmaxf(c[i] + bias[i % N], 0.0f);
}
"""
SCALE = r"""
#include <tle_raw/tile.h>
template <int M, int N> __device__ void scale(tle::tile<float, M, N> t, const float* s, int n) {
  for (int i : t.indices()) t[i] = t[i] * s[i % N] + n;
}
"""


@tle_raw.dialect("cuda", source=EPILOGUE)
def bias_relu(c: InOut[Tile["f32", "M", "N"]], bias: Pointer["f32"]): ...


@tle_raw.dialect("cuda", source=SCALE)
def scale(t: InOut[Tile["f32", "M", "N"]], s: Pointer["f32"], n: Scalar["i32"]): ...


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, bias_ptr, K, REGION: tl.constexpr, B: tl.constexpr, BLOCK_K: tl.constexpr):
    m, n, k = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :], tl.arange(0, BLOCK_K)
    m = tl.program_id(0) * B + m
    c = tl.zeros((B, B), tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + m * K + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * B + n)
        c = tl.dot(a, b, c)
    if REGION == "region":
        c = bias_relu(c, bias_ptr)
    if REGION == "Triton":
        c = tl.maximum(c + tl.load(bias_ptr + tl.arange(0, B))[None, :], 0.0)
    tl.store(c_ptr + m * B + n, c.to(tl.float16))


@triton.jit
def scaling(x_ptr, s_ptr, y_ptr, n, REGION: tl.constexpr, B: tl.constexpr):
    offsets = tl.program_id(0) * B * B + tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    x = tl.load(x_ptr + offsets)
    if REGION == "region":
        x = scale(x, s_ptr, n)
    if REGION == "Triton":
        x = x * tl.load(s_ptr + tl.arange(0, B))[None, :] + n
    tl.store(y_ptr + offsets, x * 2.0)


def matmul_source(region: str) -> ASTSource:
    types = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "bias_ptr": "*fp32", "K": "i32"}
    constants = {"REGION": region, "B": 128, "BLOCK_K": 64}
    return _source(matmul, types, constants)


def scaling_source(region: str) -> ASTSource:
    types = {"x_ptr": "*fp32", "s_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}
    return _source(scaling, types, {"REGION": region, "B": 64})


def _source(kernel: Any, types: dict[str, str], constants: dict[str, Any]) -> ASTSource:
    signature = {**types, **dict.fromkeys(constants, "constexpr")}
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(len(types))}
    return ASTSource(kernel, signature, constants, aligned)


def compile_seconds(source: ASTSource | str) -> float:
    """Processor seconds of this process and of ptxas: what other programs do on the machine does not count."""
    start = _processor_seconds()
    triton.compile(source, target=GPUTarget("cuda", 90, 32))
    return _processor_seconds() - start


def _processor_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


def warm(name: str, source_of: Any, quick: bool) -> measure.Row:
    kinds = ("region", "Triton", "none")
    seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
    for round_ in range(4 if quick else 16):
        for kind in kinds if round_ % 2 else reversed(kinds):
            seconds[kind].append(compile_seconds(source_of(kind)))
    ms = {kind: 1e3 * statistics.median(values[1:]) for kind, values in seconds.items()}
    noise = max((sorted(v)[-len(v) // 4] - sorted(v)[len(v) // 4]) / statistics.median(v) / 2 for v in seconds.values())
    sides = {f"{kind} ms": value for kind, value in ms.items()}
    note = f"against the same work in Triton {ms['region'] / ms['Triton']:.2f}x"
    return measure.Row(
        f"{name}: with region over without", ms["region"] / ms["none"], "x", GOAL_WARM, False, sides, noise, note
    )


def shared_memory_alone(name: str, source_of: Any, quick: bool) -> measure.Row:
    """The region's TTGIR without the call, compiled by stock Triton: the tile goes to shared memory and comes back."""
    seconds: dict[str, list[float]] = {"none": [], "none from TTGIR": [], "shared from TTGIR": []}
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for kind, region in (("none from TTGIR", "none"), ("shared from TTGIR", "region")):
            text = triton.compile(source_of(region), target=GPUTarget("cuda", 90, 32)).asm["ttgir"]
            files[kind] = Path(folder, f"{region}.ttgir")
            files[kind].write_text(_without_call(text))
        for _ in range(4 if quick else 16):
            seconds["none"].append(compile_seconds(source_of("none")))
            for kind, file in files.items():
                seconds[kind].append(compile_seconds(str(file)))
    ms = {kind: 1e3 * statistics.median(values[1:]) for kind, values in seconds.items()}
    value = 1 + (ms["shared from TTGIR"] - ms["none from TTGIR"]) / ms["none"]
    return measure.Row(f"{name}: tile through shared memory, no call, over without", value, "x", None, sides=ms)


def _without_call(ttgir: str) -> str:
    """The module less its region's call and the address that only the call needs."""
    lines = ttgir.splitlines()
    unused = [line for line in lines if "tt.extern_elementwise" in line or "tti.experimental_memdesc_to" in line]
    wide = [line.split(" = ")[0].strip() for line in unused if "memdesc_to_i64" in line]
    unused += [line for line in lines if any(f"arith.trunci {name} " in line for name in wide)]
    return "\n".join(line for line in lines if line not in unused)


def own_part(name: str, source_of: Any, quick: bool) -> measure.Row:
    """What tle_raw adds around Triton's own stages, beside what it takes to compile the region's code itself."""
    outside: list[float] = []
    inside: list[float] = []
    total: list[float] = []
    slot, listener = triton.knobs.runtime.add_stages_inspection_hook, triton.knobs.compilation.listener
    spent = 0.0

    def timed(stage: Any) -> Any:
        def run(*arguments: Any) -> Any:
            nonlocal spent
            start = time.perf_counter()
            try:
                return stage(*arguments)
            finally:
                spent += time.perf_counter() - start

        return run

    def earlier(
        self: Any = None, stages: Any = None, options: Any = None, language: Any = None, capability: Any = None
    ) -> Any:
        if self is None:
            return "", ""
        stages.update({name: timed(stages[name]) for name in WRAPPED})
        return None

    def listen(**event: Any) -> None:
        outside.append(sum(us for stage, us in event["times"].lowering_stages if stage in WRAPPED) / 1e3)

    slot.earlier, triton.knobs.compilation.listener = earlier, listen
    try:
        for _ in range(4 if quick else 16):
            spent, start = 0.0, time.perf_counter()
            triton.compile(source_of("region"), target=GPUTarget("cuda", 90, 32))
            total.append(1e3 * (time.perf_counter() - start))
            inside.append(1e3 * spent)
    finally:
        slot.earlier, triton.knobs.compilation.listener = None, listener
    own = statistics.median(o - i for o, i in zip(outside, inside, strict=True))
    rest = statistics.median(total) - own
    sides = {"own ms": own, "rest ms": rest}
    return measure.Row(f"{name}: with tle_raw's own part over without", 1 + own / rest, "x", GOAL_WARM, False, sides)


def cold_process() -> list[float]:
    """Seconds beyond the foreign compiler: the first fragment of this process, and a second one."""
    beyond = []
    for text in (SCALE, SCALE + "\n// another fragment\n"):
        start = time.perf_counter()

        @tle_raw.dialect("cuda", source=text)
        def scale(t: InOut[Tile["f32", "M", "N"]], s: Pointer["f32"], n: Scalar["i32"]): ...

        compiled = scale.compile("cuda:90", M=64, N=64)
        beyond.append(time.perf_counter() - start - compiled.seconds)
        if compiled.cache_hit:
            raise SystemExit("the fragment was not cold")
    return [*beyond, compiled.seconds]


def cold(quick: bool) -> list[measure.Row]:
    runs = []
    for _ in range(3 if quick else 9):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "TLE_RAW_CACHE_DIR": folder}
            command = [sys.executable, __file__, "--cold-process"]
            run = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
        if run.returncode != 0:
            raise SystemExit(run.stderr)
        runs.append(json.loads(run.stdout.splitlines()[-1]))
    first, second, clang = (statistics.median(values) for values in zip(*runs, strict=True))
    return [
        measure.Row("cold fragment, first of a process: own time", first, "s", GOAL_COLD_S, False, {"clang s": clang}),
        measure.Row("cold fragment, a later one: own time", second, "s", GOAL_COLD_S, False, {"clang s": clang}),
    ]


def main() -> None:
    if "--cold-process" in sys.argv:
        print(json.dumps(cold_process()))
        return
    options = measure.arguments(__doc__.splitlines()[0])
    triton.knobs.compilation.always_compile = True
    rows = [
        warm("warm compile, 128x128 matmul", matmul_source, options.quick or options.compile_only),
        own_part("warm compile, 128x128 matmul", matmul_source, options.quick or options.compile_only),
        warm("warm compile, 64x64 scaling", scaling_source, options.quick or options.compile_only),
        shared_memory_alone("warm compile, 64x64 scaling", scaling_source, options.quick or options.compile_only),
        own_part("warm compile, 64x64 scaling", scaling_source, options.quick or options.compile_only),
    ]
    if not options.compile_only:
        rows += cold(options.quick)
    measure.report("compile time", rows, options)


if __name__ == "__main__":
    main()
