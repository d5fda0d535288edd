"""Products in loops of buffers that a block is given: a partition's arguments, and what a loop hands on.

``python -m tests.frontends.gpu.argument_kernels FOLDER`` compiles each for sm_90 and writes what came out there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw.language as tle
from tests.support import compile_kernel


@triton.jit
def fill(x_ptr, a, b, full, empty, n, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    for k in range(n):
        tle.gpu.barrier_wait(empty, k)
        a.store(tl.load(x_ptr + k * N * N + at))
        b.store(tl.load(x_ptr + (k + 1) * N * N + at))
        tle.gpu.barrier_arrive(full, 1, k)


@triton.jit
def multiply(c_ptr, a, b, full, empty, n, N: tl.constexpr, HOW: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros([N, N], tl.float32)
    for k in range(n):
        tle.gpu.barrier_wait(full, k)
        if HOW == "wgmma":
            acc = tle.gpu.wgmma(a, b, acc)
            acc = tle.gpu.wgmma_wait(0, acc)
        elif HOW == "turned":
            acc = tl.dot(a.load(), b.load().T, acc)
        else:
            acc = tl.dot(a.load(), b.load(), acc)
        tle.gpu.barrier_arrive(empty, 1, k)
    tl.store(c_ptr + i[:, None] * N + i[None, :], acc)


@triton.jit
def in_partition(x_ptr, c_ptr, n, N: tl.constexpr, HOW: tl.constexpr):
    """The sum of the products of each tile of x and the next one, by a partition that is given both buffers."""
    a, b = tle.gpu.alloc([N, N], tl.float16), tle.gpu.alloc([N, N], tl.float16)
    full, empty = tle.gpu.alloc_barrier(), tle.gpu.alloc_barrier(init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        [(fill, (x_ptr, a, b, full, empty, n, N)), (multiply, (c_ptr, a, b, full, empty, n, N, HOW))], [4], [128]
    )


@triton.jit
def handed_on(x_ptr, c_ptr, n, N: tl.constexpr, HOW: tl.constexpr):
    """The same by a loop that stores the next tile into one buffer and hands it on as the other."""
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    a, b = tle.gpu.alloc([N, N], tl.float16), tle.gpu.alloc([N, N], tl.float16)
    a.store(tl.load(x_ptr + at))
    acc = tl.zeros([N, N], tl.float32)
    for k in range(n):
        b.store(tl.load(x_ptr + (k + 1) * N * N + at))
        if HOW == "wgmma":
            acc = tle.gpu.wgmma(a, b, acc)
            acc = tle.gpu.wgmma_wait(0, acc)
        elif HOW == "inner":
            for _ in range(n):  # another block's arguments
                acc = tl.dot(a.load(), b.load(), acc)
        else:
            acc = tl.dot(a.load(), b.load(), acc)
        a, b = b, a
    tl.store(c_ptr + at, acc)


KERNELS = {
    f"{kernel.__name__}-{how}": (kernel, how)
    for kernel, ways in ((in_partition, ("dot", "turned", "wgmma")), (handed_on, ("dot", "inner", "wgmma")))
    for how in ways
}


def main() -> None:
    folder = Path(sys.argv[1])
    for name, (kernel, how) in KERNELS.items():
        compiled = compile_kernel(kernel, {"x_ptr": "*fp16", "c_ptr": "*fp32", "n": "i32"}, {"N": 64, "HOW": how})
        texts = {stage: compiled.asm[stage] for stage in ("ttgir", "ptx")}
        (folder / f"{name}.json").write_text(json.dumps(texts | {"shared": compiled.metadata.shared}))


if __name__ == "__main__":
    main()
