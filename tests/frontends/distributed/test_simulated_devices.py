"""Devices that are simulated in one process: their numbers, and what is said where they wait for ever."""

import time
from pathlib import Path

import pytest

pytest.importorskip("torch_mlir.ir")

import numpy as np
import triton.language as tl

import tle_raw
from tests.frontends.distributed import device_kernels, meeting_kernels, signal_pads
from tests.interpreting import interpret, names_of
from tle_raw.distributed import device_mesh, simulate
from tle_raw.errors import ContextError, DeadlockError, KernelFailed, LaunchError, MeshError, MeshTypeError, PeerError

pytestmark = pytest.mark.every_triton(1)


@pytest.fixture(autouse=True)
def on_the_cpu():
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        yield


@pytest.mark.parametrize("world,n", [(2, 1000), (4, 1), (8, 333), (16, 777)])
def test_devices_add_up_what_all_of_them_have(world, n):
    devices = simulate(world, bytes=1 << 16)
    values = np.random.default_rng(n).standard_normal((world, n)).astype(np.float32)
    shards = devices.tensors(values)
    outs = [np.full(n, np.nan, np.float32) for _ in range(world)]
    devices.launch(lambda rank, context: signal_pads.all_reduce[(1,)](context, shards[rank], outs[rank], n, BLOCK=128))
    for out in outs:
        np.testing.assert_allclose(out, values.astype(np.float64).sum(0), rtol=1e-5, atol=1e-5)


def test_a_device_sees_what_was_written_before_a_signal():
    devices = simulate(device_mesh({"node": 2, "device": [("x", 2), ("y", 2)], "block": 4}), bytes=4096)
    values = devices.zeros(50, "int32")
    devices.launch(lambda rank, context: signal_pads.send_to_the_next[(1,)](context, values[rank], 50, BLOCK=64))
    for rank in range(8):
        np.testing.assert_array_equal(values[rank], (rank - 1) % 8 * 100 + np.arange(50))


def test_tensors_of_torch_lie_in_a_devices_memory():
    torch = pytest.importorskip("torch")
    devices = simulate(2, bytes=4096)
    shards = devices.tensors([torch.full((3, 5), float(rank + 1), dtype=torch.bfloat16) for rank in range(2)])
    outs = [torch.zeros(15) for _ in range(2)]
    devices.launch(lambda rank, context: signal_pads.all_reduce[(1,)](context, shards[rank], outs[rank], 15, BLOCK=16))
    assert all((out == 3).all() for out in outs)
    offsets = [shard.data_ptr() - context.region.ctypes.data for shard, context in zip(shards, devices.contexts)]
    assert offsets[0] == offsets[1]


def test_a_function_returns_what_it_returns():
    assert simulate(3, bytes=512).launch(lambda rank, context: (rank, context.rank, context.world)) == [
        (0, 0, 3),
        (1, 1, 3),
        (2, 2, 3),
    ]


def test_a_deadlock_says_who_waits_where_for_what():
    devices, began = simulate(2, bytes=512), time.monotonic()
    signal_pads.wait_for_nobody.warmup(devices.contexts[0], 5, grid=(1,))
    with pytest.raises(DeadlockError) as caught:
        devices.launch(lambda rank, context: signal_pads.wait_for_nobody[(1,)](context, 5))
    assert time.monotonic() - began < 30
    text = str(caught.value)
    for rank in range(2):
        assert f"device {rank}, program (0, 0, 0) of `wait_for_nobody`" in text
        assert f"signal {5 + rank} of device {rank}, which holds 0" in text
    assert "signal_pads.py:" in text and "while tl.atomic_add(signal_at(context, rank, slot + rank)" in text


def test_who_waits_for_a_device_that_is_done_is_told_so():
    devices, shard = simulate(3, bytes=512), np.zeros(4, np.float32)

    def work(rank, context):
        if rank != 1:
            signal_pads.all_reduce[(1,)](context, shard, shard, 0, BLOCK=16)

    with pytest.raises(DeadlockError, match=r"device 1 .* is done"):
        devices.launch(work)
    with pytest.raises(DeadlockError, match=r"device 1 .* is done"):  # nothing is left of the first launch's threads
        devices.launch(work)


@pytest.mark.parametrize("world", [2, 3, 5])
def test_who_waits_at_a_barrier_is_told_for_whom(world):
    mesh, devices = tl.constexpr(device_mesh({"device": world})), simulate(world, bytes=512)
    with pytest.raises(DeadlockError) as caught:
        devices.launch(lambda rank, context: rank and meeting_kernels.only_meet[(1,)](context, mesh))
    waiting = [row.expected for row in caught.value.table if "is done" not in row.got]
    assert waiting == ["news of program 0 of device 0 at the barrier"] * (world - 1)


@pytest.mark.parametrize("error", [DeadlockError, KeyError, PeerError])
def test_devices_work_after_a_launch_that_failed(error):
    """Some have come to barriers and have signalled, of which the next launch knows nothing."""
    mesh, devices = tl.constexpr(device_mesh({"device": 3})), simulate(3, bytes=1 << 14)
    values, outs = devices.zeros(48), np.zeros((3, 48), np.float32)

    def fails(rank, context):
        for peer in range(3):
            meeting_kernels.only_signal[(1,)](context, peer, 4)
        if rank == 0 and error is KeyError:
            raise KeyError("mine")
        if rank == 0 and error is PeerError:
            meeting_kernels.only_signal[(1,)](context, 3, 4)
        if rank != 0:
            meeting_kernels.only_meet[(1,)](context, mesh)

    with pytest.raises(error):
        devices.launch(fails)
    for turn in range(2):
        for rank in range(3):
            values[rank][:] = 10 * turn + rank
        devices.launch(lambda r, context: device_kernels.rotate[(3,)](context, values[r], outs[r], 48, mesh, BLOCK=16))
        assert (outs[:, 0] == 2 * (10 * turn + np.array([1, 2, 0]))).all() and (outs == outs[:, :1]).all()
    with pytest.raises(DeadlockError, match="signal 4 of device 0, which holds 0"):
        devices.launch(lambda rank, context: rank or meeting_kernels.only_wait[(1,)](context, 4, 1))


def test_what_a_device_raises_comes_to_the_caller_while_others_wait_for_it():
    devices, shard = simulate(3, bytes=512), np.zeros(4, np.float32)

    def work(rank, context):
        if rank == 1:
            raise KeyError("mine")
        signal_pads.all_reduce[(1,)](context, shard, shard, 0, BLOCK=16)

    with pytest.raises(KeyError, match="mine") as caught:
        devices.launch(work)
    assert caught.value.__notes__ == ["on device 1"]


def test_devices_that_are_not_done_in_time_are_ended():
    devices = simulate(2, bytes=512)

    def work(rank, context):
        if rank == 0:
            time.sleep(1)
        else:
            signal_pads.wait_for_nobody[(1,)](context, 0)

    with pytest.raises(DeadlockError, match=r"not done after 0.4 s") as caught:
        devices.launch(work, seconds=0.4)
    assert "runs Python code" in str(caught.value)


def test_checks_of_debug_know_the_memory_of_all_devices():
    with tle_raw.knobs.scope() as knobs:
        knobs.debug = True
        devices = simulate(2, bytes=4096)
        shards = devices.tensors([np.ones(64, np.float32)] * 2)
        outs = [np.zeros(64, np.float32) for _ in range(2)]
        devices.launch(
            lambda rank, context: signal_pads.all_reduce[(1,)](context, shards[rank], outs[rank], 64, BLOCK=64)
        )
        assert (outs[0] == 2).all()
        with pytest.raises(KernelFailed, match="outside of the memory of every argument"):
            devices.launch(
                lambda rank, context: signal_pads.all_reduce[(1,)](context, shards[rank], outs[rank][:5], 64, BLOCK=64)
            )


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("how", ["load", "store", "atomic", "put", "get"])
def test_memory_outside_of_the_context_is_told_under_debug_wherever_it_would_lead(how, nodes):
    """An array that is larger than the distance of both regions: the moved pointer may lead into it again."""
    devices, out = simulate(device_mesh({"node": nodes, "device": 2 // nodes}), bytes=512), np.zeros(16, np.int32)
    x = np.arange(1 << 22, dtype=np.int32)
    with tle_raw.knobs.scope() as knobs:
        knobs.debug = True
        with pytest.raises(KernelFailed, match="a pointer that does not lie in the context's memory") as caught:
            devices.launch(lambda rank, c: rank or device_kernels.name_a_peer[(1,)](c, x, out, rank, 1, how))
    assert "in program (0, 0, 0) of kernel `name_a_peer`" in str(caught.value)
    np.testing.assert_array_equal(x, np.arange(1 << 22))


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("how", ["load", "store", "atomic", "put", "get", "signal"])
@pytest.mark.parametrize("peer", [-1, 2, 100_000_000])
def test_a_device_that_is_not_there_is_named(peer, how, nodes, debug):
    devices, out = simulate(device_mesh({"node": nodes, "device": 2 // nodes}), bytes=512), np.zeros(16, np.int32)
    x = devices.zeros(16, "int32")
    with tle_raw.knobs.scope() as knobs:
        knobs.debug = debug
        with pytest.raises(PeerError, match="device 0, program 0: the context has no such device") as caught:
            devices.launch(lambda rank, c: device_kernels.name_a_peer[(1,)](c, x[rank], out, rank, peer, how))
    assert [(row.expected, row.got) for row in caught.value.table] == [("0 to 1", str(peer))]
    assert caught.value.place.startswith("name_a_peer:")


@pytest.mark.parametrize(
    "mesh,error", [(0, MeshError), (129, MeshError), (2.0, MeshTypeError), (True, MeshTypeError), ("2", MeshTypeError)]
)
def test_what_is_no_mesh_of_devices_is_refused(mesh, error):
    with pytest.raises(error):
        simulate(mesh)


def test_memory_that_a_device_does_not_have_is_refused():
    with pytest.raises(ContextError, match="memory is used up"):
        simulate(2, bytes=512).empty((129,), "float32")


def test_devices_are_of_the_cpu():
    with tle_raw.knobs.scope() as knobs:
        del knobs.target
        with pytest.raises(LaunchError, match="run kernels on the CPU"):
            simulate(2).launch(lambda rank, context: None)


def test_devices_at_work_take_no_other_launch():
    devices = simulate(2, bytes=512)
    with pytest.raises(LaunchError, match="at work"):
        devices.launch(lambda rank, context: devices.launch(lambda rank, context: None))


def test_triton_s_interpreter_refuses_by_name_what_it_cannot_do():
    pytest.importorskip("torch")
    names = names_of(Path(__file__).with_name("interpreted_meshes.py"))
    said = interpret("tests.frontends.distributed.interpreted_meshes", names)
    assert [line for line in said.splitlines() if line.startswith("ok ")] == [f"ok {name}" for name in names], said
