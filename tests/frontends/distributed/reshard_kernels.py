"""Kernels that take tiles of resharded tensors, and some that cannot be."""

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def copy_by_tiles(
    context, x_ptr, o_ptr, n0, n1, MESH: tl.constexpr, BEFORE: tl.constexpr, AFTER: tl.constexpr, SHAPE: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, TM: tl.constexpr, TN: tl.constexpr,
):  # fmt: skip
    """The new part, [ROWS, COLUMNS] at most, tile by tile; SHAPE is the whole tensor's, or None, and n0 and n1 are."""
    if SHAPE is None:
        x = tle.make_sharded_tensor(x_ptr, BEFORE, shape=(n0, n1))
    else:
        x = tle.make_sharded_tensor(x_ptr, BEFORE, shape=SHAPE)
    y = tle.reshard(x, AFTER, context=context)
    tle.distributed_barrier(MESH, context=context)
    for i in range(tl.cdiv(ROWS, TM)):
        for j in range(tl.program_id(0), tl.cdiv(COLUMNS, TN), tl.num_programs(0)):
            m, n = i * TM + tl.arange(0, TM)[:, None], j * TN + tl.arange(0, TN)[None, :]
            tl.store(o_ptr + m * COLUMNS + n, y.tile([i, j], [TM, TN]), mask=(m < ROWS) & (n < COLUMNS))
    tle.distributed_barrier(MESH, context=context)


@triton.jit
def reshard_pointer(context, x_ptr, o_ptr, BEFORE: tl.constexpr, AFTER: tl.constexpr):
    x = tle.make_sharded_tensor(x_ptr, BEFORE, shape=(64, 64))
    tle.reshard(x, AFTER, context=context, out=o_ptr)


@triton.jit
def reshard_block(x_ptr, BEFORE: tl.constexpr, AFTER: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :])
    tle.reshard(tle.make_sharded_tensor(x, BEFORE), AFTER)


@triton.jit
def shard_three_dims(x_ptr, BEFORE: tl.constexpr):
    tle.make_sharded_tensor(x_ptr, BEFORE, shape=(4, 4, 4))
