"""Blocks of a cluster on the CPU: numbers, barriers, and what is said where they wait for ever."""

import threading
import time

import pytest

pytest.importorskip("torch_mlir.ir")

import numpy as np
import triton.language as tl

import tle_raw
from tests.frontends.distributed import block_kernels
from tests.frontends.distributed import cluster_kernels as kernels
from tle_raw.distributed import device_mesh
from tle_raw.errors import DeadlockError, KernelFailed, LaunchError, MeshError
from tle_raw.targets.cpu.groups import GroupLaunch

pytestmark = pytest.mark.every_triton(1)


@pytest.fixture(autouse=True, params=[False, True], ids=["plain", "debug"])
def on_the_cpu(request):
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.debug = "cpu", request.param
        yield


def cluster(blocks):
    return tl.constexpr(device_mesh({"block_cluster": blocks}))


@pytest.mark.parametrize("blocks,clusters,n", [(2, 5, 37), (4, 1, 1), (8, 2, 50)])
def test_a_block_reads_the_memory_of_the_next(blocks, clusters, n):
    values = np.random.default_rng(n).standard_normal((blocks * clusters, n)).astype(np.float32)
    out = np.full_like(values, np.nan)
    kernels.neighbours[(blocks * clusters,)](values, out, n, cluster(blocks), BLOCK=64)
    parts = values.astype(np.float64).reshape(clusters, blocks, n)
    np.testing.assert_allclose(out, (parts + 2 * np.roll(parts, -1, 1)).reshape(out.shape), rtol=1e-6, atol=1e-6)


def test_blocks_add_to_the_memory_of_the_first():
    values = np.random.default_rng(1).standard_normal((3 * 4, 61)).astype(np.float32)
    out = np.zeros(3, np.float32)
    kernels.reduction[(12,)](values, out, 61, cluster(4), BLOCK=64)
    np.testing.assert_allclose(out, values.astype(np.float64).reshape(3, -1).sum(1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.int64])
def test_pointers_are_those_of_another_block(dtype):
    blocks, n = 4, 64
    values = np.random.default_rng(3).integers(-99, 99, (3, blocks, n)).astype(dtype)
    out, count = np.zeros((3, blocks, 2, n), dtype), np.full((3, blocks), -1, np.int32)
    block_kernels.pointed[(3 * blocks,)](values, out, count, cluster(blocks), BLOCKS=blocks, N=n)
    first = np.where(np.arange(n) % 3 > 0, values[:, :1], 7).repeat(blocks, 1)
    np.testing.assert_array_equal(out, np.stack([np.roll(values, -1, 1), first], 2))
    np.testing.assert_array_equal(count, [[blocks * n, 0, 0, 0]] * 3)


def test_a_pointer_into_no_buffer_is_nobodys():
    values = np.zeros(2, np.float32)
    with pytest.raises(KernelFailed, match="points into no buffer"):
        block_kernels.pointed_elsewhere[(2,)](values, cluster(2))


def test_a_part_of_a_cluster_meets():
    values = np.random.default_rng(2).integers(0, 1000, (3, 2, 2, 32)).astype(np.int32)
    out = np.zeros_like(values)
    kernels.columns[(12,)](values, out, BLOCK=32)
    np.testing.assert_array_equal(out, values * 1000 + values[:, ::-1])


def test_all_programs_of_a_grid_meet():
    values, out = np.arange(6, dtype=np.int64), np.zeros((6, 6), np.int64)
    kernels.rounds[(6,)](values, out, 6, ROUNDS=5)
    wanted = np.zeros_like(out)
    for r in range(5):
        wanted[r + 1] = np.roll(wanted[r], -1) + values
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_block_is_named_at_run_time(rank):
    out = np.zeros(16, np.int32)
    kernels.of_another_block[(2,)](out, rank, cluster(2))
    np.testing.assert_array_equal(out, np.arange(16) + 16 * rank)


def test_a_block_that_the_cluster_does_not_have_is_an_error():
    with pytest.raises(KernelFailed, match=r"no such block: block = 2: blocks = 2"):
        kernels.of_another_block[(2,)](np.zeros(16, np.int32), 2, cluster(2))


def test_blocks_that_have_returned_count_as_arrived():
    out = np.zeros(4, np.int32)
    kernels.one_returns[(4,)](out, cluster(4))
    assert out.tolist() == [0, 1, 1, 1]


def test_a_deadlock_of_a_cluster_says_who_waits_where():
    kernels.one_waits_elsewhere.warmup(np.zeros(1, np.int32), cluster(4), grid=(4,))
    began = time.monotonic()
    with pytest.raises(DeadlockError) as caught:
        kernels.one_waits_elsewhere[(4,)](np.zeros(1, np.int32), cluster(4))
    assert time.monotonic() - began < 30
    text = str(caught.value)
    assert "every program waits or is done" in text
    assert "program (1, 0, 0) of `one_waits_elsewhere`" in text and "news of memory, which holds 0" in text
    assert "program (3, 0, 0) of `one_waits_elsewhere`" in text and "news of program (1, 0, 0)" in text


@pytest.mark.parametrize("blocks,rounds", [(2, 3), (8, 5)])
def test_tiles_go_around_by_copies_that_barriers_count(blocks, rounds):
    values = np.random.default_rng(blocks).standard_normal((2 * blocks, 8, 32)).astype(np.float32)
    out = np.zeros_like(values)
    block_kernels.sent_around[(2 * blocks,)](values, out, rounds, cluster(blocks), BLOCKS=blocks, ROWS=8, N=32)
    wanted = np.roll(values.reshape(2, blocks, 8, 32), rounds, 1) * 2**rounds
    np.testing.assert_array_equal(out, wanted.reshape(out.shape))


def test_arrivals_of_another_block_complete_a_phase():
    kernels.waits_for_arrivals[(4,)](cluster(2), COUNT=2)
    with pytest.raises(DeadlockError, match=r"news of arrivals at a barrier of this block") as caught:
        kernels.waits_for_arrivals[(4,)](cluster(2), COUNT=1)
    assert "tle.gpu.barrier_wait(bar, 0)" in str(caught.value)


def test_a_program_that_leaves_a_grid_is_waited_for():
    with pytest.raises(DeadlockError, match=r"news of program \(2, 0, 0\)"):
        kernels.grid_of_which_one_returns[(6,)](np.zeros(1, np.int32))


def test_a_program_that_leaves_a_grid_last_is_waited_for_too(monkeypatch):
    run = GroupLaunch._run_program

    def late(launch, context, place):
        until = time.monotonic() + 30
        while launch.number_at(place) == 2 and time.monotonic() < until:
            if launch.waits is not None and len(launch.waits._blocked) == 5:
                break
            time.sleep(0.001)
        run(launch, context, place)

    monkeypatch.setattr(GroupLaunch, "_run_program", late)
    with pytest.raises(DeadlockError, match=r"news of program \(2, 0, 0\)"):
        kernels.grid_of_which_one_returns[(6,)](np.zeros(1, np.int32))


def test_an_arrival_without_the_wait_before_is_an_error():
    with pytest.raises(KernelFailed, match=r"without a wait for the one before") as caught:
        kernels.arrives_twice[(2,)](cluster(2))
    assert 'tle.distributed_barrier(mesh, kind="arrive")' in str(caught.value)


@pytest.mark.parametrize(
    "launch,expected",
    [
        (lambda: kernels.arrives_twice[(3,)](cluster(2)), "a multiple of 2"),
        (
            lambda: kernels.rounds[(12,)](np.zeros(12), np.zeros((2, 12)), 12, ROUNDS=1),
            "blocks of the grid",
        ),
        (
            lambda: kernels.rounds[(1028,)](
                np.zeros(1028), np.zeros((2, 1028)), 7, 1, tl.constexpr(device_mesh({"block": 1028}))
            ),
            "at most 1024",
        ),
    ],
    ids=["cluster", "mesh", "too many"],
)
def test_a_grid_that_does_not_fit_is_refused(launch, expected):
    with pytest.raises((LaunchError, MeshError), match=expected):
        launch()


def test_a_fragment_has_the_rank_that_its_block_has_in_the_cluster():
    out = np.ones(2, np.int32)
    kernels.asked_by_a_fragment[(2,)](out, None)
    assert out.tolist() == [0, 0]
    kernels.asked_by_a_fragment[(2,)](out, cluster(2))
    assert out.tolist() == [0, 2], "the fragment's and the kernel's"


def test_a_machine_that_gives_no_more_threads_ends_the_launch(monkeypatch):
    start, begun = threading.Thread.start, []

    def limited(thread):
        begun.append(thread)
        if len(begun) > 3:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    for _ in range(10):  # which thread comes first is chance
        begun.clear()
        with pytest.raises(LaunchError, match="can't start new thread"):
            kernels.rounds[(6,)](np.zeros(6), np.zeros((3, 6)), 6, ROUNDS=2)
