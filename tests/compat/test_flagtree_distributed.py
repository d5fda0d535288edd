"""FlagTree's distributed names, in the forms of its own tests, on the CPU."""

import re

import numpy as np
import pytest

pytest.importorskip("torch_mlir.ir")

import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.frontends.distributed.cluster_kernels import place
from tests.support import cause_of, compile_kernel
from tle_raw.compat import flagtree
from tle_raw.distributed import simulate
from tle_raw.errors import ArgumentTypeError, DeadlockError, MeshError, RegionError
from tle_raw.targets.check_launch import blocks_of, check_grid

flagtree.install()

import triton.experimental.tle as tled  # noqa: E402
import triton.experimental.tle.language.gpu as tleg  # noqa: E402

pytestmark = pytest.mark.every_triton(1)

PAIR = tled.device_mesh({"block_cluster": [("cluster_x", 2)]})
BOX = tled.device_mesh(tled.MeshConfig(block_cluster=[("cluster_x", 2), ("cluster_y", 4)]))
ROWS = tled.device_mesh({"block_cluster": [("cluster_x", 2), ("cluster_y", 2)]})
ROW_OF_FOUR = tled.device_mesh({"block_cluster": 4})
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
def swap_in_a_box(out_ptr, mesh: tl.constexpr, BLOCKS: tl.constexpr, BLOCK: tl.constexpr):
    """Each block tells its ids, and those of the block whose rank in the cluster follows."""
    offs = tl.arange(0, BLOCK)
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    smem = tleg.alloc([BLOCK], dtype=tl.int32, layout=None, scope=tleg.smem, nv_mma_shared_layout=False)
    pointers = tleg.local_ptr(smem, (offs,))
    tl.store(pointers, offs * 0 + x + 100 * y + 10000 * z)
    rank = tled.shard_id(mesh, 0) * (BLOCKS // mesh.shape[0]) + tled.shard_id(mesh, 1)
    tled.distributed_barrier(mesh)
    other = tled.remote(smem, (rank + 1) % BLOCKS, scope=mesh)
    theirs = tl.load(tleg.local_ptr(other, (offs,)))
    tled.distributed_barrier(mesh)
    at = out_ptr + ((z * tl.num_programs(1) + y) * tl.num_programs(0) + x) * 2 * BLOCK + offs
    tl.store(at, offs * 0 + rank)
    tl.store(at + BLOCK, theirs)


@triton.jit
def meet_in_rows(first_ptr, second_ptr, out_ptr, first_row: tl.constexpr, second_row: tl.constexpr):
    """As FlagTree's test of barriers of parts: with its program ids each row is one cluster's."""
    pid = tl.program_id(0)
    if pid < 2:
        tl.atomic_add(first_ptr, 1)
        tled.distributed_barrier(first_row)
    else:
        tl.atomic_add(second_ptr, 3)
        tled.distributed_barrier(second_row)
    tl.store(out_ptr + tl.program_id(1) * tl.num_programs(0) + pid, pid)


@triton.jit
def one_waits_elsewhere(flag_ptr, mesh: tl.constexpr):
    if (tl.program_id(0) == 3) & (tl.program_id(1) == 2):
        while tl.atomic_add(flag_ptr, 0) == 0:
            pass
    tled.distributed_barrier(mesh)


@triton.jit
def ask_a_fragment(out_ptr, mesh: tl.constexpr):
    number = tle.call(place, tl.zeros([1], tl.int32)) - tled.shard_id(mesh, 0)
    tl.store(out_ptr + tl.program_id(0) + tl.arange(0, 1), number)


@triton.jit
def two_boxes(out_ptr, mesh: tl.constexpr, other: tl.constexpr):
    tl.store(out_ptr, tled.shard_id(mesh, 0) + tled.shard_id(other, 0))


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


@pytest.mark.parametrize("grid,mesh,debug", [((3, 2), BOX, False), ((1,), BOX, True), ((2, 1, 3), ROWS, False)])
def test_clusters_of_two_axes_lie_along_the_grids(grid, mesh, debug):
    tle_raw.knobs.debug = debug
    across, down = mesh.shape
    x, y, z = grid[0] * across, (*grid, 1)[1] * down, (*grid, 1, 1)[2]
    out = np.zeros((z, y, x, 2, 16), np.int32)
    kernel = swap_in_a_box[grid](out, mesh, mesh.size, 16)
    assert kernel.metadata.cluster_dims == (across, down, 1)
    zs, ys, xs = np.indices((z, y, x))
    rank = xs % across + across * (ys % down)  # as %cluster_ctarank counts
    following = (rank + 1) % mesh.size
    xs, ys = xs - xs % across + following % across, ys - ys % down + following // across
    np.testing.assert_array_equal(out, np.stack([rank, xs + 100 * ys + 10000 * zs], -1)[..., None].repeat(16, -1))


def test_parts_of_such_clusters_meet():
    counters, out = np.zeros(2, np.int32), np.full((2, 4), -1, np.int32)
    meet_in_rows[(2,)](counters, counters[1:], out, ROWS[0, :], ROWS[1, :])
    np.testing.assert_array_equal(counters, [4, 12])
    np.testing.assert_array_equal(out, [[0, 1, 2, 3]] * 2)


def test_a_deadlock_names_the_programs_of_such_a_cluster():
    with pytest.raises(DeadlockError, match=r"program \(3, 2, 0\)"):
        one_waits_elsewhere[(2, 2)](np.zeros(1, np.int32), ROWS)


def test_fragments_ask_for_their_place_along_one_axis():
    out = np.ones(4, np.int32)
    ask_a_fragment[(2,)](out, PAIR)
    assert not out.any()
    with pytest.raises(
        RegionError, match=r"`place` asks for its place in a cluster that lies along several axes"
    ) as caught:
        ask_a_fragment[(1,)](out, ROWS)
    assert "tle.call(place" in str(caught.value)


def test_other_axes_of_a_cluster_are_refused():
    with pytest.raises(Exception) as caught:
        two_boxes.warmup(np.zeros(1, np.int32), ROWS, ROW_OF_FOUR, grid=(1,))
    error = cause_of(caught.value)
    assert isinstance(error, MeshError) and "[4, 1, 1]" in str(error) and "[2, 2, 1]" in str(error)


def test_on_gpus_the_kernel_says_the_cluster_axes():
    constants = {"mesh": BOX, "BLOCKS": 8, "BLOCK": 32}
    compiled = compile_kernel(swap_in_a_box, {"out_ptr": "*i32"}, constants)
    assert re.search(r"\.explicitcluster\s+\.reqnctapercluster 2, 4, 1", compiled.asm["ptx"])
    assert compiled.metadata.cluster_dims == (2, 4, 1)
    wanted = compiled.metadata.tle_clusters
    assert blocks_of(wanted, (3, 2, 5)) == (6, 8, 5)
    check_grid(wanted, (6, 8, 5))


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
    error = cause_of(caught.value)
    assert isinstance(error, ArgumentTypeError) and "node" in str(error)
