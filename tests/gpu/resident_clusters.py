"""Clusters whose blocks stay until all of the launch have begun: how many had, and the processor that each ran on."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

import tle_raw.language as tle

TURNS = 20_000  # each some microsecond: of looking for others that do not come


@triton.jit
def wait_for_all(counter, seen, processors, expected, turns, mesh: tl.constexpr, BYTES: tl.constexpr):
    """How many blocks had begun before this one ended, and its processor; each takes BYTES of shared memory."""
    held, lane = tle.gpu.alloc([BYTES], tl.int8, nv_mma_shared_layout=False), tl.arange(0, 128)
    tl.store(tle.gpu.local_ptr(held, (lane,)), tl.zeros((128,), tl.int8))
    tle.distributed_barrier(mesh)
    nothing = tl.load(tle.gpu.local_ptr(tle.remote(held, 0, mesh=mesh), (lane,)))
    count = tl.atomic_add(counter, 1) + 1 + tl.max(nothing.to(tl.int32), 0)
    turn = 0
    while (count < expected) & (turn < turns):  # no clock: a block's warps would not leave in the same turn
        count = tl.atomic_add(counter, 0)
        turn += 1
    tl.store(seen + tl.program_id(0), count)
    processor = tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(processors + tl.program_id(0), processor)


def launch(clusters: int, blocks: int, size: int) -> tuple[Any, Any, list[list[int]]]:
    """The kernel, an i32 of each block that says how many had begun, and the processors of each cluster."""
    count = clusters * blocks
    counter, seen, processors = (torch.zeros(n, device="cuda", dtype=torch.int32) for n in (1, count, count))
    mesh = tle.device_mesh({"block_cluster": blocks})
    kernel = wait_for_all[(count,)](counter, seen, processors, count, TURNS, mesh=mesh, BYTES=size)
    return kernel, seen, processors.view(clusters, blocks).tolist()
