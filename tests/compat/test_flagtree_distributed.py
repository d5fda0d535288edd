"""FlagTree's distributed names, in the forms of its own tests, on the CPU."""

import numpy as np
import pytest

pytest.importorskip("torch_mlir.ir")

import triton
import triton.language as tl

import tle_raw
from tle_raw.compat import flagtree
from tle_raw.distributed import simulate
from tle_raw.errors import ArgumentTypeError

flagtree.install()

import triton.experimental.tle as tled  # noqa: E402
import triton.experimental.tle.language.gpu as tleg  # noqa: E402

pytestmark = pytest.mark.every_triton(1)

PAIR = tled.device_mesh({"block_cluster": [("cluster_x", 2)]})
DEVICES = tled.device_mesh(tled.MeshConfig(device=2))


@pytest.fixture(autouse=True)
def on_the_cpu():
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        yield


@triton.jit
def swap_in_a_cluster(out_ptr, mesh: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    pid = tl.program_id(0)
    smem = tleg.alloc([BLOCK], dtype=tl.float32, layout=None, scope=tleg.smem, nv_mma_shared_layout=False)
    tl.store(tleg.local_ptr(smem, (offs,)), (offs + pid * BLOCK).to(tl.float32))
    tled.distributed_barrier(mesh, barrier_kind=tled.BarrierKind.SYNC)
    other = tled.remote(smem, 1 - tled.shard_id(mesh, "cluster_x"), scope=mesh)
    values = tl.load(tleg.local_ptr(other, (offs,)))
    tled.distributed_barrier()
    tl.store(out_ptr + pid * BLOCK + offs, values)


@triton.jit
def alone(x_ptr, out_ptr, numel, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < numel
    smem = tleg.alloc([BLOCK], dtype=tl.float32, layout=None, scope=tleg.smem, nv_mma_shared_layout=False)
    pointers = tleg.local_ptr(tled.remote(smem, 0), (offs,))
    tl.store(pointers, tl.load(x_ptr + offs, mask=mask, other=0.0), mask=mask)
    tled.distributed_barrier()
    tl.store(out_ptr + offs, tl.load(pointers, mask=mask, other=0.0), mask=mask)


@triton.jit
def swap_between_devices(out_ptr, device_dptr, mesh: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    me = tled.shard_id(mesh, "device", device_dptr=device_dptr)
    peer = (me + 1) % tled.n_pes(device_dptr)
    there = tled.remote(device_dptr, space="device", dtype=tl.float32, shard_id=peer, offset=8)
    tl.store(there + offs, (offs + 100 * me).to(tl.float32))
    tled.signal(device_dptr, peer, 3, value=2, op="add")
    tled.signal_wait(device_dptr, 3, "signal", target=2)
    here = tled.remote(device_dptr, space="device", dtype=tl.float32, shard_id=me)
    tl.store(out_ptr + offs, tl.load(here + 8 + offs))
    tled.distributed_barrier(mesh=mesh, device_dptr=device_dptr, space="device")


@triton.jit
def reach_another_node(out_ptr, device_dptr):
    tl.store(out_ptr, tl.load(tled.remote(device_dptr, shard_id=0, space="node", dtype=tl.float32)))


def test_blocks_of_a_cluster_read_each_others_buffers():
    out = np.zeros(128, np.float32)
    swap_in_a_cluster[(2,)](out, PAIR, 32)  # clusters, as FlagTree counts them
    np.testing.assert_array_equal(out, np.r_[32:64, 0:32, 96:128, 64:96])


def test_without_a_mesh_a_block_is_a_cluster_of_its_own():
    x, out = np.random.default_rng(0).random(20, np.float32), np.zeros(20, np.float32)
    alone[(1,)](x, out, 20, 32)
    np.testing.assert_array_equal(out, x)


def test_devices_store_to_each_other_and_signal():
    world = simulate(2, bytes=4096)
    outs = [np.zeros(16, np.float32) for _ in range(2)]
    world.launch(lambda rank, context: swap_between_devices[(1,)](outs[rank], context, DEVICES, 16))
    for rank, out in enumerate(outs):
        np.testing.assert_array_equal(out, np.arange(16) + 100 * (1 - rank))


def test_another_space_is_refused_by_name():
    world = simulate(1, bytes=4096)
    with pytest.raises(Exception) as caught:
        reach_another_node.warmup(np.zeros(1, np.float32), world.contexts[0], grid=(1,))
    error = caught.value
    while error.__cause__ is not None:
        error = error.__cause__
    assert isinstance(error, ArgumentTypeError) and "node" in str(error)
