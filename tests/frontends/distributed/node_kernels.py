"""Kernels of devices of several nodes: one source for simulated devices and for NVSHMEM on GPUs."""

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def beside(mesh: tl.constexpr, context, AXIS: tl.constexpr, NODES: tl.constexpr, DEVICES: tl.constexpr):
    """The number of the next device along an axis of a mesh of nodes and devices, round the end."""
    node, device = tle.shard_id(mesh, "node", context), tle.shard_id(mesh, "device", context)
    if AXIS == "node":
        node = (node + 1) % NODES
    else:
        device = (device + 1) % DEVICES
    return node * DEVICES + device


@triton.jit
def exchange(
    context, x, into, got, back, rows, columns, stride, mesh: tl.constexpr, AXIS: tl.constexpr, NODES: tl.constexpr,
    DEVICES: tl.constexpr, M: tl.constexpr, N: tl.constexpr
):  # fmt: skip
    """Puts its rows of ``x`` into the next device's ``into``, reads that one's ``x``, and copies what came here.

    ``x`` and ``into`` have rows of ``stride`` elements, ``got`` and ``back`` of ``columns``.
    """
    peer = beside(mesh, context, AXIS, NODES, DEVICES)
    row = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    column = tl.arange(0, N)[None, :]
    mask = (row < rows) & (column < columns)
    there = row * stride + column
    tile = tl.load(x + there, mask=mask)
    tle.distributed_barrier(mesh, context)
    tle.put(into + there, tile, peer, context, mask=mask, signal=tl.program_id(0))
    theirs = tle.get(x + there, peer, context, mask=mask, other=0)
    tl.store(back + row * columns + column, theirs, mask=mask)
    tle.signal_wait(context, tl.program_id(0), 1)
    tl.store(got + row * columns + column, tl.load(into + there, mask=mask), mask=mask)
    tle.distributed_barrier(mesh, context)


@triton.jit
def scatter(
    context, x, into, order, n, mesh: tl.constexpr, AXIS: tl.constexpr, NODES: tl.constexpr, DEVICES: tl.constexpr,
    N: tl.constexpr
):  # fmt: skip
    """Puts element i of ``x`` to place ``order[i]`` of the next device's ``into``: no two beside each other."""
    peer = beside(mesh, context, AXIS, NODES, DEVICES)
    i = tl.arange(0, N)
    tle.distributed_barrier(mesh, context)
    tle.put(into + tl.load(order + i, mask=i < n, other=0), tl.load(x + i, mask=i < n), peer, context, mask=i < n)
    tle.distributed_barrier(mesh, context)


@triton.jit
def rounds(
    context, x, out, n, turns, mesh: tl.constexpr, WORLD: tl.constexpr, N: tl.constexpr
):  # fmt: skip
    """Each turn all devices put ``turn + rank`` to all, meet, and count what is wrong; ``x`` has ``2 * WORLD`` rows."""
    i = tl.program_id(0) * N + tl.arange(0, N)
    node, devices = tle.shard_id(mesh, "node", context), mesh.shape[1]
    me = node * devices + tle.shard_id(mesh, "device", context)
    wrong = tl.zeros([N], tl.int32)
    for turn in range(turns):
        half = (turn & 1) * WORLD
        for peer in range(WORLD):
            tle.put(x + (half + me) * n + i, tl.full([N], 0, tl.int32) + turn + me, peer, context, mask=i < n)
        tle.distributed_barrier(mesh, context)
        for peer in range(WORLD):
            wrong += (tl.load(x + (half + peer) * n + i, mask=i < n, other=0) != turn + peer) & (i < n)
    tl.store(out + i, wrong, mask=i < n)


@triton.jit
def meet_along(context, x, out, mesh: tl.constexpr, AXIS: tl.constexpr, NODES: tl.constexpr, DEVICES: tl.constexpr):
    """One number to the next device along an axis, with a barrier along that axis alone; then it is set by a signal."""
    peer = beside(mesh, context, AXIS, NODES, DEVICES)
    me = tle.shard_id(mesh, "node", context) * DEVICES + tle.shard_id(mesh, "device", context)
    tle.put(x, me.to(tl.float32), peer, context)
    tle.distributed_barrier(mesh, context, axes=(AXIS,))
    tl.store(out, tl.load(x))
    tle.signal(context, peer, 5, me + 100, op="set")
    tl.store(out + 1, tle.signal_wait(context, 5, 100).to(tl.float32))


@triton.jit
def reach(context, x, out, peer, mesh: tl.constexpr):
    """Reads another device's ``x`` by a pointer."""
    tle.distributed_barrier(mesh, context)
    tl.store(out, tl.load(tle.remote(x, peer, context)))
    tle.distributed_barrier(mesh, context)


@triton.jit
def only_meet(context, mesh: tl.constexpr):
    tle.distributed_barrier(mesh, context)


@triton.jit
def set_own(context, slot, value):
    """Set one of its own signals."""
    tle.signal(context, tl.load(context + 1).to(tl.int32), slot, value, op="set")
