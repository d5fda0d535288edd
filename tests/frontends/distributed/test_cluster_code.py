"""Kernels of clusters compiled for GPUs: what stands in their code, and what is refused at its line."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import triton
import triton.language as tl

import tle_raw.language as tle
from tests.frontends.distributed import block_kernels as kernels
from tests.support import TRITON, cause_of, compile_kernel, ptx_calls
from tle_raw import knobs
from tle_raw.errors import MeshError, MeshTypeError, RegionError, ShapeError, SharedBufferError

pytestmark = pytest.mark.every_triton(3)

PAIR, SQUARE = tle.device_mesh({"cluster": [("x", 2)]}), tle.device_mesh({"cluster": [("x", 2), ("y", 2)]})
TWO = {"x": "*fp32", "o": "*fp32"}
MET = "barrier.cluster.wait"


def made(kernel, types, constants, **options):
    compiled = compile_kernel(kernel, types, constants, **options)
    ptx = compiled.asm["ptx"]
    assert ptx.count(".entry") == 1
    assert not ptx_calls(compiled)
    return compiled, ptx


def attributes(cubin, folder):
    """What the driver is told of a kernel."""
    file, tool = folder / "kernel.cubin", Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    file.write_bytes(cubin)
    told = subprocess.run([tool, "-elf", file], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"EIATTR_\w+", told))


@pytest.mark.parametrize("capability", [90, 100])
def test_blocks_of_a_cluster_meet_before_they_leave(capability, tmp_path):
    constants = {"mesh": SQUARE, "BLOCKS": 4, "N": 256}
    compiled, ptx = made(kernels.next_tile, TWO, constants, capability=capability)
    assert re.search(r"\.explicitcluster\s+\.reqnctapercluster 4", ptx)
    assert {"EIATTR_CTA_PER_CLUSTER", "EIATTR_EXPLICIT_CLUSTER"} <= attributes(compiled.asm["cubin"], tmp_path)
    assert ptx.count(MET) == 2  # the kernel's own, before others are reached, and one before it leaves
    assert "ld.shared::cluster" in ptx and "arrive.relaxed" not in ptx
    assert ptx.index(MET) < ptx.index("ld.shared::cluster") < ptx.rindex(MET)
    assert compiled.metadata.tle_clusters == {"cluster": 4, "programs": 4, "exactly": 0}


def test_a_barrier_of_the_kernel_behind_all_takes_the_place_of_the_last():
    _, ptx = made(kernels.shifted, TWO | {"count": "i32"}, {"mesh": PAIR, "BLOCKS": 2, "N": 256})
    assert ptx.count("barrier.cluster.arrive") == ptx.count(MET) == 2


def test_pointers_are_mapped_into_other_blocks():
    compiled, ptx = made(kernels.pointed, TWO | {"count": "*i32"}, {"mesh": PAIR, "BLOCKS": 2, "N": 128})
    assert len(re.findall(r"ld\.shared::cluster", ptx)) == 2
    assert ptx.count("atom.relaxed.cluster.shared::cluster.add") == 1
    assert list(compiled.metadata.cluster_dims) == [2, 1, 1]


def test_a_pointer_into_no_buffer_is_refused():
    with pytest.raises(Exception) as caught:
        made(kernels.pointed_elsewhere, {"x": "*fp32"}, {"mesh": PAIR})
    error = cause_of(caught.value)
    assert isinstance(error, SharedBufferError) and "points into no buffer" in str(error)


def test_an_atomic_operation_is_made_once():
    types = {"x": "*i32", "sums": "*i32", "tops": "*i32", "tickets": "*i32"}
    _, ptx = made(kernels.counted, types, {"mesh": PAIR, "BLOCKS": 2, "N": 128, "BINS": 64})
    assert ptx.count("atom.relaxed.cluster.shared::cluster.add") == 4  # an element a thread, two operations, two blocks
    assert ptx.count("atom.relaxed.cluster.shared::cluster.max") == 2


def test_copies_and_arrivals_in_other_blocks():
    constants = {"mesh": PAIR, "BLOCKS": 2, "ROWS": 16, "N": 64}
    _, ptx = made(kernels.sent_around, TWO | {"rounds": "i32"}, constants)
    assert "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes" in ptx
    assert "fence.mbarrier_init.release.cluster" in ptx
    _, ptx = made(kernels.handed_on, TWO | {"rounds": "i32"}, {"mesh": PAIR, "BLOCKS": 2, "N": 256})
    assert "mbarrier.try_wait.parity.acquire.cluster" in ptx and "mbarrier.arrive.release.cluster" in ptx
    # From Triton 3.7 on an address alone does not say whose memory it is in.
    assert ("mov.u32 r, %cluster_ctarank" in ptx) == (TRITON >= (3, 7))
    assert re.findall(r"mbarrier\.init\S* \[[^]]*\], (\d+)", ptx) == ["4", "4"]  # each warp arrives by itself


def test_for_racecheck_each_thread_arrives_in_other_blocks(monkeypatch):
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    with knobs.scope() as changed:
        changed.racecheck = True
        _, ptx = made(kernels.handed_on, TWO | {"rounds": "i32"}, {"mesh": PAIR, "BLOCKS": 2, "N": 256})
    assert re.findall(r"mbarrier\.init\S* \[[^]]*\], (\d+)", ptx) == ["128", "128"]
    assert "elect.sync _|p" not in ptx and ptx.count("mbarrier.arrive.release.cluster") == 2


def test_warps_that_copy_for_two_blocks():
    types = {"a_desc": "tensordesc<fp16[64,64]>", "b_desc": "tensordesc<fp16[64,64]>", "c": "*fp32", "K": "i32"}
    _, ptx = made(kernels.matmul_partitions, types, {"mesh": PAIR, "LEAVE": False})
    assert ".multicast::cluster [" in ptx
    # Nothing that threads wrote is waited for.
    assert "mbarrier.arrive.shared::cluster" in ptx and "mbarrier.arrive.release.cluster" not in ptx
    # Before the partitions and behind them: by the kernel's own warps, and by all others, whose code may be one.
    assert ptx.count(MET) in (3, 4)
    # Where they begin they tell of barriers alone, and do not wait for what they wrote; before they leave they do.
    assert ptx.index("barrier.cluster.arrive.relaxed") < ptx.index(".multicast::cluster [")
    assert "fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed" in ptx
    assert "barrier.cluster.arrive.release" in ptx


def test_blocks_that_have_seen_that_the_others_are_done_leave_alone():
    types = {"a_desc": "tensordesc<fp16[64,64]>", "b_desc": "tensordesc<fp16[64,64]>", "c": "*fp32", "K": "i32"}
    _, ptx = made(kernels.matmul_partitions, types, {"mesh": PAIR, "LEAVE": True})
    assert "barrier.cluster.arrive.release" not in ptx
    assert ptx.count(MET) in (1, 2) and ptx.rindex("barrier.cluster.arrive.relaxed") < ptx.index(
        ".multicast::cluster ["
    )


@triton.jit
def leaves_before_it_reaches(x, o, mesh: tl.constexpr):
    tile = tle.gpu.alloc([64], tl.float32)
    tile.store(tl.load(x + tl.arange(0, 64)))
    tle.distributed_barrier(mesh)
    tle.distributed_barrier(mesh, kind="leave")
    tl.store(o + tl.arange(0, 64), tl.load(tle.gpu.local_ptr(tle.remote(tile, 1, mesh=mesh), (tl.arange(0, 64),))))


def test_blocks_that_reach_others_behind_that_meet_all_the_same():
    _, ptx = made(leaves_before_it_reaches, TWO, {"mesh": PAIR})
    assert ptx.count(MET) == 2 and ptx.index("ld.shared::cluster") < ptx.rindex(MET)


@pytest.mark.parametrize(
    "mesh", [{"block": 64}, {"device": 2}, {"cluster": [("x", 2)]}], ids=["grid", "devices", "part"]
)
def test_only_whole_clusters_leave(mesh):
    mesh = tle.device_mesh(mesh)
    with pytest.raises(Exception) as caught:
        compile_kernel(leaves, {"o": "*fp32"}, {"mesh": mesh[0] if "cluster" in str(mesh) else mesh})
    assert isinstance(cause_of(caught.value), MeshError)


@triton.jit
def leaves(o, mesh: tl.constexpr):
    tle.distributed_barrier(mesh, kind="leave")
    tl.store(o, 1.0)


def test_all_blocks_meet():
    constants = {"mesh": tle.device_mesh({"block": 64}), "BLOCKS": 64}
    compiled, ptx = made(kernels.met_in_grid, {"x": "*i64", "o": "*i64", "rounds": "i32"}, constants)
    assert compiled.metadata.launch_cooperative_grid
    assert compiled.metadata.tle_clusters == {"cluster": 0, "programs": 64, "exactly": 64}
    assert "%envreg1" in ptx and "cluster" not in ptx


@triton.jit
def two_meshes(o, mesh: tl.constexpr, other: tl.constexpr):
    tl.store(o, tle.shard_id(mesh, 0) + tle.shard_id(other, 0))


@triton.jit
def one_place(o, mesh: tl.constexpr, axis: tl.constexpr):
    tl.store(o, tle.shard_id(mesh, axis))


@triton.jit
def unknown_cluster(o):
    tile = tle.gpu.alloc([64], tl.float32)
    tl.store(o, tl.load(tle.gpu.local_ptr(tle.remote(tile, 1), (0,))))


@triton.jit
def no_such_block(o, mesh: tl.constexpr):
    tile = tle.gpu.alloc([64], tl.float32)
    tl.store(o, tl.load(tle.gpu.local_ptr(tle.remote(tile, 2, mesh=mesh), (0,))))


@triton.jit
def half_a_barrier_of_a_part(o, mesh: tl.constexpr):
    tle.distributed_barrier(mesh, kind="arrive")
    tl.store(o, 1.0)


@triton.jit
def _meets(mesh: tl.constexpr):
    tle.distributed_barrier(mesh)


@triton.jit
def _nothing(o):
    tl.store(o, 1.0)


@triton.jit
def in_a_partition(o, mesh: tl.constexpr):
    tle.gpu.warp_specialize([(_nothing, (o,)), (_meets, (mesh,))], [4])


@triton.jit
def wrong_part(desc, o, mesh: tl.constexpr, ROWS: tl.constexpr, N: tl.constexpr):
    tile = tle.gpu.alloc([ROWS, N], tl.float16)
    bar = tle.gpu.alloc_barrier(expect_bytes=ROWS * N * 2)
    group = tle.multicast_group(mesh, 0)
    tle.gpu.copy(desc, tile, [ROWS, N], offsets=[0, 0], barrier=bar, multicast=group)


O = {"o": "*fp32"}  # noqa: E741
MANY = tle.device_mesh({"cluster": 16})
WRONG = {
    "no clusters on sm_80": (one_place, O, {"mesh": PAIR, "axis": 0}, {"capability": 80}, RegionError, "no clusters"),
    "num_ctas": (one_place, O, {"mesh": PAIR, "axis": 0}, {"num_ctas": 2}, RegionError, "the launch says so too"),
    "sixteen blocks": (one_place, O, {"mesh": MANY, "axis": 0}, {}, MeshError, "cannot be launched"),
    "no axis": (one_place, O, {"mesh": PAIR, "axis": "z"}, {}, MeshError, "no axis `z`"),
    "no mesh": (one_place, O, {"mesh": 3, "axis": 0}, {}, MeshTypeError, "takes a mesh"),
    "two sizes": (two_meshes, O, {"mesh": PAIR, "other": SQUARE}, {}, MeshError, "and differ"),
    "no cluster yet": (unknown_cluster, O, {}, {}, MeshError, "nothing has said yet"),
    "no such block": (no_such_block, O, {"mesh": PAIR}, {}, IndexError, "no such member"),
    "half a part": (half_a_barrier_of_a_part, O, {"mesh": SQUARE[0]}, {}, MeshError, "at once"),
    "in a partition": (in_a_partition, O, {"mesh": PAIR}, {}, RegionError, "all threads of a block"),
    "a whole tile": (
        wrong_part, {"desc": "tensordesc<fp16[64,64]>"} | O, {"mesh": PAIR, "ROWS": 64, "N": 64}, {}, ShapeError,
        "a part of the tile",
    ),
    "parts in pieces": (
        wrong_part, {"desc": "tensordesc<fp16[32,128]>"} | O, {"mesh": PAIR, "ROWS": 64, "N": 128}, {},
        SharedBufferError, "in one piece",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_refused_at_its_line(name):
    kernel, types, constants, options, error, message = WRONG[name]
    with pytest.raises(Exception) as raised:
        compile_kernel(kernel, types, constants, **options)
    found = cause_of(raised.value)
    assert isinstance(found, error) and message in str(found)
    assert "test_cluster_code.py" in str(found) or "block_kernels.py" in str(found)
