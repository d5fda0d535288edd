"""Sample 22: matrix product and reduce-scatter, or all-reduce, in one kernel. For two GPUs with sm_90 and more.

Every GPU has some columns of ``a`` and of ``b``, so that ``a @ b.T`` is the sum of what all of them compute. A tile
that another one adds goes there as soon as it is computed, straight from the registers, and the kernel goes on with the
next one; the own tiles come last, when what the others have sent for them is there. Of an all-reduce the sum is then
written to everybody.
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw.language as tle
from tle_raw.distributed import device_mesh

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common
import devices

product_tile = common.load("tle_struct/21_all_gather_gemm.py").product_tile


@triton.jit(do_not_specialize=["launch_number"])
def matmul_reduce(
    context, a_desc, b_desc, staging_ptr, c_ptr, launch_number,
    MESH: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ALL: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """``c`` is [M / world, N], this GPU's rows of the sum; with ALL it is all of it, in the context's memory.

    staging_ptr : [2, world, M / world, N], in the context's memory: what the others send, in turns of two launches.
    launch_number : counts the launches of this context from 1 on, as signals do from launch to launch.
    """
    WORLD: tl.constexpr = MESH.size
    CHUNK: tl.constexpr = M // WORLD
    TILES_M: tl.constexpr = CHUNK // BLOCK_M
    TILES_N: tl.constexpr = (N + BLOCK_N - 1) // BLOCK_N
    number = tl.program_id(0)
    me, tile = tle.shard_id(MESH, "device", context), number % (TILES_M * TILES_N)
    owner = (me + 1 + number // (TILES_M * TILES_N)) % WORLD
    tile_m, tile_n = tle.gpu.grouped_tile(tile, TILES_M, TILES_N, GROUP_M)
    m = owner * CHUNK + tile_m * BLOCK_M
    c = product_tile(
        a_desc, b_desc, m, tile_n * BLOCK_N, (K + BLOCK_K - 1) // BLOCK_K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS
    )
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (columns < N)[None, :]
    place = rows.to(tl.int64)[:, None] * N + columns[None, :]
    turn = staging_ptr + (launch_number % 2).to(tl.int64) * M * N
    if owner != me:
        sent = turn + me.to(tl.int64) * CHUNK * N + place
        tle.put(sent, c.to(staging_ptr.dtype.element_ty), owner, context, mask=inside, signal=tile)
    else:
        tle.signal_wait(context, tile, launch_number * (WORLD - 1))
        for other in range(1, WORLD):
            sender = ((me + other) % WORLD).to(tl.int64)
            c += tl.load(turn + sender * CHUNK * N + place, mask=inside, other=0).to(tl.float32)
        total = c.to(c_ptr.dtype.element_ty)
        if ALL:
            to = c_ptr + me.to(tl.int64) * CHUNK * N + place
            for member in tl.static_range(WORLD):
                tle.put(to, total, member, context, mask=inside)
            tle.distributed_barrier(MESH, context=context)
        else:
            tl.store(c_ptr + place, total, mask=inside)


GPU = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "SLOTS": 4, "GROUP_M": 8}
SMALL = {"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32, "SLOTS": 3, "GROUP_M": 2}


def launch(context, world: int, a, b, staging, c, launch_number: int, whole: bool, **changed):
    """a [M, K] and b [N, K] are this GPU's columns of both; c is [M, N] with ``whole``, else [M / world, N]."""
    (M, K), N = a.shape, b.shape[0]
    blocks = common.sizes(gpu=(GPU,), cpu=(SMALL,))[0] | changed
    rows, columns, depth = (blocks[f"BLOCK_{axis}"] for axis in "MNK")
    described = [
        TensorDescriptor(x, list(x.shape), [x.stride(0), 1], [block, depth]) for x, block in ((a, rows), (b, columns))
    ]
    grid = M // rows * triton.cdiv(N, columns)
    return matmul_reduce[(grid,)](
        context, *described, staging, c, launch_number,
        MESH=device_mesh({"device": world}), M=M, N=N, K=K, ALL=whole, **blocks, num_warps=8,
    )  # fmt: skip


def compile_for(target):
    rows, columns, depth = GPU["BLOCK_M"], GPU["BLOCK_N"], GPU["BLOCK_K"]
    types = {
        "context": "*i64",
        "a_desc": f"tensordesc<bf16[{rows},{depth}]>",
        "b_desc": f"tensordesc<bf16[{columns},{depth}]>",
        "staging_ptr": "*bf16",
        "c_ptr": "*bf16",
        "launch_number": "i32",
    }
    constants = GPU | {"MESH": device_mesh({"device": 2}), "M": 8192, "N": 4096, "K": 4096}
    return [
        common.compile_ahead(matmul_reduce, target, types, constants | {"ALL": whole}, num_warps=8)
        for whole in (False, True)
    ]


def check():
    gpu = ((2048, 1000, 1024, 2), (4096, 2048, 2048, 2))
    for *sizes, world in common.sizes(gpu=gpu, cpu=((128, 72, 64, 2), (256, 40, 96, 4))):
        group = devices.Devices(world, 6 * sizes[0] * sizes[1] + 4096)
        yield from check_size(*sizes, group)
        group.close()


def check_size(M: int, N: int, K: int, group):
    import torch

    values = [[torch.randn(shape).bfloat16() for _ in range(group.world)] for shape in ((M, K), (N, K))]
    terms = [x.double() @ y.double().T for x, y in zip(*values)]
    want = sum(terms)
    # What is sent is rounded to bf16, by half a unit of its last place, and so is the sum; products are summed in f32.
    absolute = 2**-9 * max(term.abs().max().item() for term in terms) * (group.world - 1) + 3e-5 * K**0.5
    a, b = (group.each(lambda rank, _, of=of: of[rank].to(group.name(rank))) for of in values)
    staging, whole = (group.empty(shape, torch.bfloat16) for shape in ((2 * M, N), (M, N)))
    parts = group.each(lambda rank, _: torch.empty(M // group.world, N, dtype=torch.bfloat16, device=group.name(rank)))

    def launches(number: int, out):
        return group.launch(
            lambda rank, context: launch(
                context, group.world, a[rank], b[rank], staging[rank], out[rank], number, out is whole
            )
        )

    for first, what, out in ((1, "reduce-scatter", parts), (3, "all-reduce", whole)):
        for one in out:
            one.fill_(float("nan"))
        kernels = [launches(number, out) for number in (first, first + 1)][-1]
        for rank, c in enumerate(out):
            rows = want if out is whole else want.chunk(group.world)[rank]
            name = f"{what} {M} × {N} × {K}, {rank} of {group.world}"
            yield kernels[rank], common.compare(name, c.cpu(), rows, relative=2**-7, absolute=absolute)


if __name__ == "__main__":
    sys.exit(common.main("22 matrix product and reduce-scatter, all-reduce", compile_for, check))
