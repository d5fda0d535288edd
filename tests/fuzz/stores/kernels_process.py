"""A process that has imported everything and compiled nothing: each run is a fork of it, as fresh as a new process.

It reads one JSON list per line, the seconds after which each child is killed or null, and answers with what became of
each: "right", the name of the project's error, or something else, which is a fault.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
import traceback

import numpy as np
import torch  # noqa: F401  imported at the first launch
import triton
import triton.language as tl
from triton.runtime.cache import triton_key

import tle_raw
import tle_raw.adapters.cuda.adapter
import tle_raw.emulation.make_thread_block
import tle_raw.flir.cpu.convert
import tle_raw.flir.cpu.lower_to_llvm
import tle_raw.host.loader
from tle_raw import Element, InOut, Tile
from tle_raw.adapters.cpp.toolchain import find_toolchain
from tle_raw.flir.cpu.bindings import mlir
from tle_raw.linker.tools.llvmlite_binding import load_llvmlite
from tle_raw.targets.cpu.stages import toolchain_identity

SECONDS = 240  # for all children of a run


@tle_raw.dialect("cuda", source="__device__ float times(float x) { return x * 1536.0f; }")
def times(x: Element["f32"]) -> Element["f32"]: ...


@tle_raw.dialect("cuda", source='extern "C" __device__ void add(float* t) { t[threadIdx.x] += 384.0f; }')
def add(t: InOut[Tile["f32", 128]]): ...


@triton.jit
def multiplies(target, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(target + i, times(tl.load(target + i)))


@triton.jit
def adds(target, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(target + i, add(tl.load(target + i)))


def run() -> str:
    for kernel, expected in ((multiplies, 1536.0), (adds, 385.0)):
        values = np.ones(128, np.float32)
        try:
            kernel[(1,)](values, 128)
        except tle_raw.TLEError as error:
            return f"{type(error).__name__}: {error}"
        except BaseException:
            return f"raised:\n{traceback.format_exc()}"
        if not (values == expected).all():
            return f"wrong numbers: {values}"
    return "right"


def child(answer: int) -> None:
    os.setpgid(0, 0)
    os.write(answer, run()[-8000:].encode())
    os._exit(0)


def start() -> tuple[int, int]:
    reading, writing = os.pipe()
    number = os.fork()
    if number == 0:
        os.close(reading)
        child(writing)
    os.close(writing)
    return number, reading


def end(number: int, reading: int, killed: bool, deadline: float) -> str:
    ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
    said = os.read(reading, 10_000).decode() if ready else ""
    with contextlib.suppress(OSError):
        os.killpg(number, signal.SIGKILL)
    _, status = os.waitpid(number, 0)
    os.close(reading)
    if said:
        return said
    if killed:
        return "killed"
    return f"ended by signal {os.WTERMSIG(status)}" if ready else f"no answer within {SECONDS} s"


def answer(kills: list[float | None]) -> list[str]:
    begun = time.monotonic()
    children = [start() for _ in kills]
    for after, number in sorted((after, n) for after, (n, _) in zip(kills, children, strict=True) if after is not None):
        time.sleep(max(0.0, begun + after - time.monotonic()))
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)
    return [end(*c, after is not None, begun + SECONDS) for after, c in zip(kills, children, strict=True)]


def prepare() -> None:
    """What is the same for each process and takes its time: digests of Triton, the compiler's version, modules."""
    triton_key()
    toolchain_identity()
    find_toolchain()
    mlir()
    load_llvmlite()


if __name__ == "__main__":
    prepare()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
