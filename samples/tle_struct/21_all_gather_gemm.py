"""Sample 21: all-gather and matrix product in one kernel. For two GPUs with sm_90 and more; simulated on the CPU.

Every GPU has some rows of ``a`` and all of ``b``, and computes all of ``a @ b.T``. The first programs fetch the rows of
the others, by a resharded view, and tell the rest of the own programs after each piece how far they are. Those begin
with the own rows, which are there, and go on with what arrives meanwhile.
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw.language as tle
from tle_raw.distributed import device_mesh, sharding

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common
import devices


@triton.jit
def fetch(
    context, a_ptr, MESH: tl.constexpr, ROWS: tl.constexpr, WHOLE: tl.constexpr, M: tl.constexpr, K: tl.constexpr,
    PIECE: tl.constexpr, FETCHERS: tl.constexpr, TILE_M: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    """The rows of all others, piece by piece; each program takes every n-th tile of a piece and then signals it."""
    CHUNK: tl.constexpr = M // MESH.size
    COLUMNS: tl.constexpr = K // TILE_K
    me, program = tle.shard_id(MESH, "device", context), tl.program_id(0)
    whole = tle.reshard(tle.make_sharded_tensor(a_ptr, ROWS, (M, K)), WHOLE, context=context)
    tle.distributed_barrier(MESH, context=context)
    for piece in range(CHUNK // PIECE, M // PIECE):
        at = piece * (PIECE // TILE_M)
        there = (at + me * (CHUNK // TILE_M)) % (M // TILE_M)
        for number in range(program, PIECE // TILE_M * COLUMNS, FETCHERS):
            row, column = number // COLUMNS, number % COLUMNS
            value = whole.tile([there + row, column], [TILE_M, TILE_K])
            rows = ((at + row) * TILE_M + tl.arange(0, TILE_M)).to(tl.int64)
            columns = column * TILE_K + tl.arange(0, TILE_K)
            tl.store(a_ptr + rows[:, None] * K + columns[None, :], value)
        tle.signal(context, me, piece)
    tle.distributed_barrier(MESH, context=context)


@triton.jit
def product_tile(
    a_desc, b_desc, m, n, steps,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """One tile of ``a @ b.T`` by TMA and wgmma, with one product in the background, as in sample 02."""
    a = tle.gpu.alloc([SLOTS, BLOCK_M, BLOCK_K], dtype=a_desc.dtype)
    b = tle.gpu.alloc([SLOTS, BLOCK_N, BLOCK_K], dtype=b_desc.dtype)
    size: tl.constexpr = a_desc.dtype.primitive_bitwidth // 8
    full = tle.gpu.alloc_barriers(SLOTS, expect_bytes=(BLOCK_M + BLOCK_N) * BLOCK_K * size)
    for step in tl.static_range(SLOTS - 1):
        if step < steps:
            tle.gpu.copy(a_desc, a[step], [BLOCK_M, BLOCK_K], offsets=[m, step * BLOCK_K], barrier=full[step])
            tle.gpu.copy(b_desc, b[step], [BLOCK_N, BLOCK_K], offsets=[n, step * BLOCK_K], barrier=full[step])
    c = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    tl.assume(steps > 0)
    for step in range(steps):
        slot = step % SLOTS
        tle.gpu.barrier_wait(full[slot], step // SLOTS)
        c = tle.gpu.wgmma(a[slot], b[slot], c, trans_b=True)
        c = tle.gpu.wgmma_wait(1, c)
        ahead = step + SLOTS - 1
        if ahead < steps:
            free = ahead % SLOTS
            tle.gpu.copy(a_desc, a[free], [BLOCK_M, BLOCK_K], offsets=[m, ahead * BLOCK_K], barrier=full[free])
            tle.gpu.copy(b_desc, b[free], [BLOCK_N, BLOCK_K], offsets=[n, ahead * BLOCK_K], barrier=full[free])
    return tle.gpu.wgmma_wait(0, c)


@triton.jit
def before_the_copy_engine(number):
    """0: what other programs stored, and this one has been told of, is seen by the copy engine from here on."""
    return tl.inline_asm_elementwise(
        "fence.proxy.async.global; mov.b32 $0, 0;", "=r,r", [number], dtype=tl.int32, is_pure=False, pack=1
    )


@triton.jit(do_not_specialize=["launch_number"])
def all_gather_matmul(
    context, a_ptr, a_desc, b_desc, c_desc, launch_number,
    MESH: tl.constexpr, ROWS: tl.constexpr, WHOLE: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    PIECE: tl.constexpr, FETCHERS: tl.constexpr, TILE_M: tl.constexpr, TILE_K: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    ON_GPU: tl.constexpr,
):  # fmt: skip
    """``a`` is [M, K], in the context's memory: the own rows are the first ones, then come those of the next GPUs.

    ``launch_number`` counts the launches of this context from 1 on, as signals do from launch to launch.
    """
    if tl.program_id(0) < FETCHERS:
        fetch(context, a_ptr, MESH, ROWS, WHOLE, M, K, PIECE, FETCHERS, TILE_M, TILE_K)
    else:
        CHUNK: tl.constexpr = M // MESH.size
        TILES_M: tl.constexpr = CHUNK // BLOCK_M
        TILES_N: tl.constexpr = (N + BLOCK_N - 1) // BLOCK_N
        number = tl.program_id(0) - FETCHERS
        tile_m, tile_n = tle.gpu.grouped_tile(number % (TILES_M * TILES_N), TILES_M, TILES_N, GROUP_M)
        m, n = number // (TILES_M * TILES_N) * CHUNK + tile_m * BLOCK_M, tile_n * BLOCK_N
        if m >= CHUNK:
            tle.signal_wait(context, m // PIECE, launch_number * FETCHERS)
            if ON_GPU:
                m += before_the_copy_engine(m)
        c = product_tile(a_desc, b_desc, m, n, (K + BLOCK_K - 1) // BLOCK_K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS)
        there = (m + tle.shard_id(MESH, "device", context) * CHUNK) % M
        c_desc.store([there, n], c.to(c_desc.dtype))


GPU = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "SLOTS": 4, "GROUP_M": 8}
GPU |= {"PIECE": 512, "FETCHERS": 16, "TILE_M": 32, "TILE_K": 512}
SMALL = {"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32, "SLOTS": 3, "GROUP_M": 2}
SMALL |= {"PIECE": 64, "FETCHERS": 2, "TILE_M": 32, "TILE_K": 64}


def options(world: int) -> dict:
    """The mesh, and the sharding of ``a`` before and after."""
    mesh = device_mesh({"device": world})
    return {"MESH": mesh, "ROWS": sharding(mesh, ["device", None]), "WHOLE": sharding(mesh, [None, None])}


def launch(context, world: int, a, b, c, launch_number: int, **changed):
    """``a`` is [M, K] in the context's memory, with the own rows as its first ones; b is [N, K], c [M, N]."""
    (M, K), N = a.shape, b.shape[0]
    blocks = common.sizes(gpu=(GPU,), cpu=(SMALL,))[0] | changed
    rows, columns, depth = (blocks[f"BLOCK_{axis}"] for axis in "MNK")
    described = [TensorDescriptor(x, list(x.shape), [x.stride(0), 1], block) for x, block in (
        (a, [rows, depth]), (b, [columns, depth]), (c, [rows, columns]),
    )]  # fmt: skip
    grid = blocks["FETCHERS"] + M // rows * triton.cdiv(N, columns)
    return all_gather_matmul[(grid,)](
        context, a, *described, launch_number, **options(world), M=M, N=N, K=K, ON_GPU=not common.on_cpu(),
        **blocks, num_warps=8,
    )  # fmt: skip


def compile_for(target):
    rows, columns, depth = GPU["BLOCK_M"], GPU["BLOCK_N"], GPU["BLOCK_K"]
    types = {
        "context": "*i64",
        "a_ptr": "*bf16",
        "a_desc": f"tensordesc<bf16[{rows},{depth}]>",
        "b_desc": f"tensordesc<bf16[{columns},{depth}]>",
        "c_desc": f"tensordesc<bf16[{rows},{columns}]>",
        "launch_number": "i32",
    }
    constants = options(2) | GPU | {"M": 8192, "N": 4096, "K": 8192, "ON_GPU": True}
    return [common.compile_ahead(all_gather_matmul, target, types, constants, num_warps=8)]


def check():
    for sizes in common.sizes(gpu=((2048, 1000, 1024), (4096, 2048, 2048)), cpu=((128, 72, 64), (256, 32, 192))):
        yield from check_size(*sizes)


def check_size(M: int, N: int, K: int):
    import torch

    group = devices.Devices(2, 2 * M * K + 4096)
    a, b = (torch.randn(shape).bfloat16() for shape in ((M, K), (N, K)))
    shards = a.chunk(group.world)
    # What is not there yet is no number.
    own = group.tensors([torch.cat([shard, torch.full_like(a[len(shard) :], float("nan"))]) for shard in shards])
    bs = group.each(lambda rank, _: b.to(group.name(rank)))
    cs = group.each(lambda rank, _: torch.full((M, N), float("nan"), dtype=b.dtype, device=group.name(rank)))

    def launches(number: int):
        return group.launch(lambda rank, context: launch(context, group.world, own[rank], bs[rank], cs[rank], number))

    kernels = [launches(number) for number in (1, 2)][-1]
    want = a.double() @ b.double().T
    for rank, c in enumerate(cs):
        what = f"{M} × {N} × {K} on device {rank} of {group.world}"
        yield kernels[rank], common.compare(what, c.cpu(), want, relative=2**-7, absolute=3e-5 * K**0.5)
    group.close()


if __name__ == "__main__":
    sys.exit(common.main("21 all-gather and matrix product", compile_for, check))
