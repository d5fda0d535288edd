"""Races between simulated devices and between blocks of a cluster are found under knobs.debug, and nothing else is."""

import pytest

pytest.importorskip("torch_mlir.ir")

import numpy as np
import triton.language as tl

import tle_raw
from tests.frontends.distributed import cluster_kernels, device_kernels, signal_pads
from tle_raw.distributed import device_mesh, simulate
from tle_raw.errors import DeadlockError, RaceError

pytestmark = pytest.mark.every_triton(1)


@pytest.fixture(autouse=True)
def watched():
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.debug = "cpu", True
        yield


def rotated(kernel, world, n):
    mesh, values = tl.constexpr(device_mesh({"device": world})), np.random.default_rng(n).standard_normal((world, n))
    devices, outs = simulate(world, bytes=1 << 14), np.zeros((world, n))
    shards = devices.tensors(list(values))
    devices.launch(lambda rank, context: kernel[(3,)](context, shards[rank], outs[rank], n, mesh, BLOCK=32))
    np.testing.assert_array_equal(outs, 2 * np.roll(values, -1, 0))


@pytest.mark.parametrize("world", [2, 5])
def test_devices_that_meet_do_not_race(world):
    rotated(device_kernels.rotate, world, 77)


def test_a_read_before_the_barrier_races_with_the_write():
    with pytest.raises(RaceError) as caught:
        rotated(device_kernels.rotate_unordered, 3, 77)
    text = str(caught.value)
    assert "nothing orders two accesses of byte" in text and "of the tensors of device" in text
    assert "of `rotate_unordered`" in text and " writes at " in text and " reads at " in text
    assert "tl.store(values + i" in text and "tl.load(other + i" in text


def handed_over(scope, sem="release"):
    devices = simulate(2, bytes=1024)
    values = devices.zeros(40)
    devices.launch(
        lambda rank, context: signal_pads.hand_over[(1,)](context, values[rank], 40, BLOCK=64, SCOPE=scope, SEM=sem)
    )
    np.testing.assert_array_equal(values[1], 2 * np.arange(40))


def test_a_signal_orders_what_stands_before_it():
    handed_over("sys")


def test_a_signal_without_release_orders_nothing_between_devices():
    with pytest.raises(RaceError, match="byte 0 of the tensors of device 1") as caught:
        handed_over("sys", "relaxed")
    assert "a barrier between them, or a signal" in caught.value.hint


@pytest.mark.parametrize("scope", ["sys", "gpu"])
def test_atomics_of_one_gpu_order_the_blocks_of_a_cluster(scope):
    word, out = np.zeros(1, np.int32), np.zeros(40, np.float32)
    cluster_kernels.hand_over[(2,)](word, out, 40, BLOCK=64, SCOPE=scope)
    np.testing.assert_array_equal(out, np.arange(40))


def test_atomics_of_one_block_order_nothing_between_blocks():
    word, out = np.zeros(1, np.int32), np.zeros(40, np.float32)
    with pytest.raises(RaceError, match=r"of the memory of program \(1, 0, 0\)") as caught:
        cluster_kernels.hand_over[(2,)](word, out, 40, BLOCK=64, SCOPE="cta")
    assert "a scope that takes in both" in caught.value.hint


def test_a_signal_of_one_gpu_is_none_for_other_devices():
    with pytest.raises(RaceError, match="signal 3 of device 1") as caught:
        handed_over("gpu")
    assert "accesses with an atomic of too narrow a scope" in str(caught.value)
    assert "a scope that takes in both" in caught.value.hint


def counted(scope, world=2, in_turn=False):
    devices = simulate(world, bytes=512)
    words = devices.zeros(1, "int32")
    devices.launch(lambda rank, context: signal_pads.count[(3,)](context, words[rank], scope, in_turn))
    return int(words[0][0])


def test_devices_count_the_same_word_by_atomics_of_the_systems_scope():
    assert counted("sys", 3) == 9


@pytest.mark.parametrize("scope", ["cta", "gpu"])
def test_atomics_of_one_gpus_scope_race_between_devices(scope):
    with pytest.raises(RaceError, match="byte 0 of the tensors of device 0") as caught:
        counted(scope)
    assert "atomic_add(peers(context, words, 0)" in str(caught.value)


def test_atomics_of_one_gpus_scope_do_not_race_on_one_device_or_in_order():
    assert counted("gpu", 1) == 3 and counted("gpu", 2, in_turn=True) == 6


def test_launches_of_one_device_follow_each_other():
    mesh, values = tl.constexpr(device_mesh({"device": 2})), np.ones((2, 64))
    devices, outs = simulate(2, bytes=1 << 14), np.zeros((2, 64))
    shards = devices.tensors(list(values))

    def twice(rank, context):
        for _ in range(2):
            device_kernels.rotate[(2,)](context, shards[rank], outs[rank], 64, mesh, BLOCK=32)

    devices.launch(twice)
    assert (outs == 4).all()


def test_devices_whose_blocks_form_clusters_do_not_race():
    values = np.random.default_rng(3).standard_normal((2, 2, 64)).astype(np.float32)
    devices = simulate(2, bytes=4096)
    outs = devices.zeros((2, 64))
    devices.launch(lambda rank, context: device_kernels.of_both[(2,)](context, values[rank], outs[rank], BLOCK=64))
    for out in outs:
        np.testing.assert_allclose(out, np.broadcast_to(values.sum((0, 1)), (2, 64)), rtol=1e-5, atol=1e-5)


def test_a_block_that_writes_what_another_one_may_still_read_races():
    values, out = np.random.default_rng(4).standard_normal((4, 37)).astype(np.float32), np.zeros((4, 37), np.float32)
    cluster_kernels.unordered[(4,)](values, out, 37, BLOCK=64, BEFORE=True, AFTER=True)
    np.testing.assert_array_equal(out, values.reshape(2, 2, 37)[:, ::-1].reshape(4, 37))
    with pytest.raises(RaceError, match=r"of the memory of program") as caught:
        cluster_kernels.unordered[(4,)](values, out, 37, BLOCK=64, BEFORE=True, AFTER=False)
    text = str(caught.value)
    assert "tl.store(pointers, other)" in text and "other = tl.load(tle.gpu.local_ptr(tle.remote" in text


def met(rank, context, out, meets):
    """Device 0 writes by one kernel, device 1 reads by another one."""
    mesh = tl.constexpr(device_mesh({"device": 2}))
    if rank == 0:
        device_kernels.fill[(1,)](context, out[0], mesh, BLOCK=16)
    if meets:
        context.meet()
    if rank == 1:
        device_kernels.take[(1,)](context, out[0], out[1], mesh, BLOCK=16)


def test_devices_that_meet_between_kernels_do_not_race():
    devices = simulate(2, bytes=1024)
    values, taken = devices.zeros(16, "int32"), np.zeros(16, np.int32)
    devices.launch(lambda rank, context: met(rank, context, (values[rank], taken), True))
    np.testing.assert_array_equal(taken, np.arange(16))
    with pytest.raises(RaceError, match="tensors of device 0"):
        devices.launch(lambda rank, context: met(rank, context, (values[rank], taken), False))
    with pytest.raises(DeadlockError, match="waits between kernels for all devices"):
        devices.launch(lambda rank, context: rank or context.meet())


def test_words_that_are_polled_do_not_race_and_order_nothing():
    def sent(with_data):
        devices, out = simulate(2, bytes=2048), np.zeros(1, np.int32)
        words, data = devices.zeros(1, "int32"), devices.zeros(1, "int32")
        devices.launch(lambda r, context: signal_pads.send_word[(1,)](context, words[r], data[r], out, with_data))
        return out[0]

    assert sent(False) == 7
    with pytest.raises(RaceError, match="byte 512 of the tensors of device 1"):
        sent(True)
