"""Sample 23: attention over a sequence that several GPUs share. Simulated on the CPU.

Every GPU has some rows of queries, keys and values. Its programs read the keys and values of the others tile by tile,
by a resharded view, while they multiply those of the tile before: they begin with the own ones and go round, so that no
two GPUs read the same one at a time. Nothing is gathered in memory.
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw.language as tle
from tle_raw.distributed import device_mesh, sharding

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common
import devices


@triton.jit
def ring_attention(
    context, q_ptr, k_ptr, v_ptr, out_ptr, scale,
    MESH: tl.constexpr, ROWS: tl.constexpr, WHOLE: tl.constexpr, HEADS: tl.constexpr, LENGTH: tl.constexpr,
    DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """All are [HEADS, LENGTH / GPUs, DIM], k and v in the context's memory. A program has a tile of q."""
    OWN: tl.constexpr = LENGTH // MESH.size
    head, first = tl.program_id(1), tl.program_id(0) * BLOCK_M
    keys = tle.reshard(tle.make_sharded_tensor(k_ptr, ROWS, (HEADS, LENGTH, DIM)), WHOLE, context=context)
    values = tle.reshard(tle.make_sharded_tensor(v_ptr, ROWS, (HEADS, LENGTH, DIM)), WHOLE, context=context)
    rows, columns = first + tl.arange(0, BLOCK_M), tl.arange(0, DIM)
    place = (head * OWN + rows)[:, None] * DIM + columns[None, :]
    inside = (rows < OWN)[:, None]
    q = tl.load(q_ptr + place, mask=inside, other=0)
    largest = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, DIM], tl.float32)
    tle.distributed_barrier(MESH, context=context)
    start = tle.shard_id(MESH, "device", context) * (OWN // BLOCK_N)
    for step in range(LENGTH // BLOCK_N):
        tile = (start + step) % (LENGTH // BLOCK_N)
        k = tl.reshape(keys.tile([head, tile, 0], [1, BLOCK_N, DIM]), [BLOCK_N, DIM])
        v = tl.reshape(values.tile([head, tile, 0], [1, BLOCK_N, DIM]), [BLOCK_N, DIM])
        scores = tl.dot(q, tl.trans(k)) * (scale * 1.4426950408889634)
        now = tl.maximum(largest, tl.max(scores, 1))
        weights, kept = tl.exp2(scores - now[:, None]), tl.exp2(largest - now)
        total = total * kept + tl.sum(weights, 1)
        acc = tl.dot(weights.to(v.dtype), v, acc * kept[:, None])
        largest = now
    tle.distributed_barrier(MESH, context=context)
    tl.store(out_ptr + place, (acc / total[:, None]).to(out_ptr.dtype.element_ty), mask=inside)


GPU = {"BLOCK_M": 128, "BLOCK_N": 64}
SMALL = {"BLOCK_M": 16, "BLOCK_N": 16}


def options(world: int) -> dict:
    """The mesh, and the sharding of keys and values before and after."""
    mesh = device_mesh({"device": world})
    return {"MESH": mesh, "ROWS": sharding(mesh, [None, "device", None]), "WHOLE": sharding(mesh, [None, None, None])}


def launch(context, world: int, q, k, v, out):
    """All are [heads, rows of this GPU, dim]; the rows are a multiple of a tile's."""
    blocks = common.sizes(gpu=(GPU,), cpu=(SMALL,))[0]
    heads, rows, dim = q.shape
    sizes = {"HEADS": heads, "LENGTH": rows * world, "DIM": dim}
    grid = (triton.cdiv(rows, blocks["BLOCK_M"]), heads)
    return ring_attention[grid](context, q, k, v, out, dim**-0.5, **options(world), **sizes, **blocks, num_warps=8)


def compile_for(target):
    types = {"context": "*i64", **dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "out_ptr"), "*bf16"), "scale": "fp32"}
    constants = options(2) | GPU | {"HEADS": 16, "LENGTH": 8192, "DIM": 128}
    return [common.compile_ahead(ring_attention, target, types, constants, num_warps=8)]


def check():
    for sizes in common.sizes(gpu=((2, 1024, 128), (4, 4096, 64)), cpu=((2, 64, 32), (1, 96, 16))):
        yield from check_size(*sizes)


def check_size(heads: int, length: int, dim: int):
    import torch

    group = devices.Devices(2, 4 * heads * length * dim + 4096)
    q, k, v = (torch.randn(heads, length, dim).bfloat16() for _ in range(3))
    parts = [[part.contiguous() for part in x.chunk(group.world, dim=1)] for x in (q, k, v)]
    queries = group.each(lambda rank, _: parts[0][rank].to(group.name(rank)))
    keys, values = (group.tensors(x) for x in parts[1:])
    outs = group.each(lambda rank, _: torch.full_like(queries[rank], float("nan")))
    kernels = group.launch(
        lambda rank, context: launch(context, group.world, queries[rank], keys[rank], values[rank], outs[rank])
    )
    scores = q.double() @ k.double().transpose(1, 2) * dim**-0.5
    want = (scores.softmax(-1) @ v.double()).chunk(group.world, dim=1)
    for rank, out in enumerate(outs):
        what = f"{heads} heads × {length} × {dim} on device {rank} of {group.world}"
        yield kernels[rank], common.compare(what, out.cpu(), want[rank], relative=2**-7, absolute=2**-6)
    group.close()


if __name__ == "__main__":
    sys.exit(common.main("23 ring attention", compile_for, check))
