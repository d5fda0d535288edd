"""Barriers, signals, puts and gets between devices: numbers, on simulated devices."""

import pytest

pytest.importorskip("torch_mlir.ir")

import numpy as np
import triton
import triton.language as tl

import tle_raw
import tle_raw.language
from tests.frontends.distributed import meeting_kernels as kernels
from tle_raw.distributed import device_mesh, simulate
from tle_raw.errors import ContextError, DeadlockError, PeerError
from tle_raw.frontends.distributed import collective_kernels as collectives
from tle_raw.frontends.distributed.tiny_collectives import push_words

pytestmark = pytest.mark.every_triton(1)


@pytest.fixture(autouse=True)
def on_the_cpu():
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        yield


@pytest.mark.parametrize("axes", [(2, 1), (2, 2)])
def test_what_all_programs_wrote_is_seen_behind_a_barrier_in_each_of_many_rounds(axes):
    mesh, n, block = device_mesh({"device": [("x", axes[0]), ("y", axes[1])]}), 201, 128
    devices = simulate(mesh.size, bytes=1 << 16)
    x, out = devices.zeros(n, "int32"), [np.full(n, -1, np.int32) for _ in range(mesh.size)]
    grid = (triton.cdiv(n, block),)
    for _ in range(2):  # the counts of arrivals go on from launch to launch
        devices.launch(
            lambda rank, context: kernels.add_in_rounds[grid](
                context, x[rank], out[rank], n, 4, mesh, *axes, BLOCK=block
            )
        )
        assert not np.any(out)


def test_parts_of_a_mesh_meet():
    mesh, n = device_mesh({"node": [("x", 2)], "device": [("y", 3)]}), 77
    devices = simulate(mesh, bytes=1 << 14)
    values = np.random.default_rng(0).standard_normal((6, n)).astype(np.float32)
    x, out = devices.zeros(2 * n), [np.zeros(n, np.float32) for _ in range(6)]
    for rank in range(6):
        x[rank][:n] = values[rank]
    devices.launch(lambda rank, context: kernels.add_along[(1,)](context, x[rank], out[rank], n, mesh, 2, 3, BLOCK=128))
    for found in out:
        np.testing.assert_allclose(found, values.astype(np.float64).sum(0), rtol=1e-5, atol=1e-5)


def test_devices_have_a_number_among_all_and_in_a_part():
    mesh = device_mesh({"node": 2, "device": 3})
    devices, out = simulate(mesh, bytes=512), [np.zeros(2, np.int32) for _ in range(6)]
    devices.launch(lambda rank, context: kernels.number_of_all[(1,)](context, out[rank], mesh.flatten(), mesh[1, 1:]))
    assert [found.tolist() for found in out] == [[0, -1], [1, -1], [2, -1], [3, -1], [4, 0], [5, 1]]


@pytest.mark.parametrize("world", [2, 3])
def test_tiles_go_round_with_signals_and_nothing_races(world):
    tle_raw.knobs.debug = True
    n, block, rounds = 200, 64, 2 * world
    devices = simulate(world, bytes=1 << 14)
    x = devices.zeros(2 * n, "int32")
    out = [np.arange(n, dtype=np.int32) * (rank + 1) for rank in range(world)]
    mesh = device_mesh({"device": world})
    devices.launch(
        lambda rank, context: kernels.pass_round[(triton.cdiv(n, block),)](
            context, x[rank], out[rank], n, rounds, world, mesh, BLOCK=block
        )
    )
    for rank in range(world):
        np.testing.assert_array_equal(out[rank], np.arange(n) * (rank + 1) + rounds)


def test_a_signal_that_is_set_is_waited_for_by_others():
    devices, n = simulate(3, bytes=1 << 12), 50
    x, out = devices.zeros(64), [np.zeros(64, np.float32) for _ in range(3)]

    def run(rank, context):
        if rank == 0:
            kernels.say_that_it_is_there[(1,)](context, x[0], n, 3, BLOCK=64)
        kernels.take_from_first[(1,)](context, x[rank], out[rank], n, BLOCK=64)

    devices.launch(run)
    for found in out:
        np.testing.assert_array_equal(found, np.where(np.arange(64) < n, np.arange(64) * 0.5, -1))


def test_a_mesh_of_other_devices_than_the_context_is_told_of():
    devices = simulate(2, bytes=512)
    with pytest.raises(PeerError, match="mesh has other devices") as caught:
        devices.launch(lambda rank, context: kernels.only_meet[(1,)](context, device_mesh({"device": 4})))
    assert caught.value.place.startswith("only_meet:") and "4" in str(caught.value)


def test_more_programs_than_the_context_has_room_for_are_told_of():
    devices = simulate(2, bytes=512, blocks=3)
    with pytest.raises(PeerError, match="more programs than the context"):
        devices.launch(lambda rank, context: kernels.only_meet[(4,)](context, device_mesh({"device": 2})))


@pytest.mark.parametrize("peer, slot, says", [(2, 0, "no such device"), (0, 9, "no such signal"), (-1, 0, "device")])
def test_signals_of_nobody_are_told_of(peer, slot, says):
    devices = simulate(2, bytes=512, slots=9)
    with pytest.raises(PeerError, match=says):
        devices.launch(lambda rank, context: kernels.only_signal[(1,)](context, peer, slot))


def test_a_signal_that_nobody_sends_ends_the_launch():
    with pytest.raises(DeadlockError, match="device 1"):
        simulate(2, bytes=512).launch(lambda rank, context: rank and kernels.only_wait[(1,)](context, 3, 1))


@pytest.mark.parametrize("world, n", [(3, 700), (2, 64)])
def test_small_collectives_follow_each_other_without_a_second_barrier(world, n):
    mesh, block = device_mesh({"device": world}), 512
    programs = triton.cdiv(n, block)
    devices = simulate(world, bytes=1 << 17)
    random = np.random.default_rng(n)
    staging = devices.zeros(2 * world * programs * block)
    values = [random.standard_normal((world, world * n)).astype(np.float32) for _ in range(5)]
    outs = [[np.zeros(world * n, np.float32) for _ in range(5)] for _ in range(world)]

    def run(rank, context):
        for turn, x in enumerate(values):  # sums of parts, sums, and all that there is, one after the other
            scatters, gathers = turn % 3 == 0, turn % 3 == 2
            mine = np.ascontiguousarray(x[rank])
            sizes = (mesh, world, scatters, gathers, block)
            collectives.push_small[(programs,)](context, mine, outs[rank][turn], staging[rank], n, *sizes)

    devices.launch(run)
    for rank in range(world):
        for turn, x in enumerate(values):
            sums = x.astype(np.float64).sum(0)
            expected = (sums[rank * n : (rank + 1) * n], sums[:n], x[:, :n].reshape(-1))[turn % 3]
            np.testing.assert_allclose(outs[rank][turn][: expected.size], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name, n", [("bfloat16", 300), ("float32", 77)])
def test_words_that_carry_the_number_of_their_call_need_no_barrier(name, n):
    torch = pytest.importorskip("torch")
    world, block, dtype = 3, 64, getattr(torch, name)
    words = n * dtype.itemsize // 4
    programs = triton.cdiv(words, block)
    devices = simulate(world, bytes=1 << 16)
    staging = devices.zeros(2 * world * programs * block, "int64")
    calls = [np.zeros(programs, np.int32) for _ in range(world)]
    random = torch.Generator().manual_seed(n)
    values = [torch.randn(5, world, n, generator=random).to(dtype) for _ in range(world)]
    outs = [torch.zeros(5, world * n, dtype=dtype) for _ in range(world)]

    def run(rank, context):
        for turn in range(5):
            x, out = (each[rank][turn].view(-1).view(torch.int32) for each in (values, outs))
            sizes = (words, getattr(tl, name), world, turn % 3 == 0, turn % 3 == 2, block)
            push_words[(programs,)](context, x, out, staging[rank], calls[rank], *sizes)

    devices.launch(run)
    tolerance = {"bfloat16": 1e-2, "float16": 1e-3, "float32": 1e-6}[name]
    for rank in range(world):
        for turn in range(5):
            total = sum(each[turn].double() for each in values)
            expected = (total[rank], total[0], torch.cat([each[turn][0].double() for each in values]))[turn % 3]
            found = outs[rank][turn][: expected.numel()].double()
            torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "limits,world",
    [
        ({"tiny": 1 << 18}, 2),
        ({"tiny": 0, "small": 1 << 20}, 2),
        ({"tiny": 0, "small": 0}, 2),
        ({"tiny": 0, "small": 0}, 3),
    ],
)
def test_collective_operations_go_each_way_and_nothing_races(limits, world):
    torch = pytest.importorskip("torch")
    from tle_raw.distributed.collectives import Collectives

    tle_raw.knobs.debug = True
    n = 600
    devices = simulate(world, bytes=1 << 24)
    of = [Collectives(context, **limits) for context in devices.contexts]
    values = [torch.randn(world * n, generator=torch.Generator().manual_seed(rank)) for rank in range(world)]
    x = devices.tensors(values)
    total = devices.zeros(world * n, torch.float32)
    elsewhere = [torch.zeros(world * n) for _ in range(world)]
    share = [torch.zeros(n) for _ in range(world)]
    gathered = devices.zeros(world * n, torch.float32)

    def run(rank, context):
        of[rank].all_reduce(x[rank], total[rank])
        of[rank].all_reduce(x[rank], elsewhere[rank])
        of[rank].reduce_scatter(x[rank], share[rank])
        of[rank].all_gather(share[rank], gathered[rank])
        of[rank].all_reduce(x[rank])

    devices.launch(run)
    expected = sum(one.double() for one in values)
    for rank in range(world):
        for found in (total[rank], elsewhere[rank], gathered[rank], x[rank]):
            torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
            assert torch.equal(found, total[0])
        assert torch.equal(share[rank], total[0][rank * n : (rank + 1) * n])


@pytest.mark.parametrize("n", [40, 5001, 200_000], ids=["words", "several programs", "small"])
def test_collective_operations_agree_again_behind_a_launch_that_failed(n):
    """One device has counted an operation that the other one has not come to."""
    torch = pytest.importorskip("torch")
    from tle_raw.distributed.collectives import Collectives

    devices = simulate(2, bytes=1 << 24)
    of = devices.launch(lambda rank, context: Collectives(context))
    values = [torch.randn(n) for _ in range(2)]

    def fail_on_one(rank, context):
        if rank == 1:
            raise KeyError("nothing to add")
        return of[rank].all_reduce(values[rank].clone())

    for _ in range(2):
        with pytest.raises(KeyError, match="nothing to add"):
            devices.launch(fail_on_one)
        for found in devices.launch(lambda rank, context: of[rank].all_reduce(values[rank].clone())):
            torch.testing.assert_close(found.double(), values[0].double() + values[1].double(), rtol=1e-6, atol=1e-6)


def test_tensors_that_do_not_fit_a_collective_operation_are_refused():
    torch = pytest.importorskip("torch")
    from tle_raw.distributed.collectives import Collectives

    context = simulate(2, bytes=1 << 23).contexts[0]
    of = Collectives(context, tiny=0, small=0)
    with pytest.raises(ContextError, match="do not fit"):
        of.all_reduce(torch.zeros(4, dtype=torch.int32))
    with pytest.raises(ContextError, match="lies in the context's memory"):
        of.all_reduce(torch.zeros(4))
    with pytest.raises(ContextError, match="equal parts"):
        of.reduce_scatter(torch.zeros(5), torch.zeros(2))


def test_a_sum_in_two_steps_is_the_same_everywhere():
    """What a device adds is written to the others while they add: nobody reads another's share again."""
    world, n, block = 4, 1000, 128
    mesh, devices = device_mesh({"device": world}), simulate(world, bytes=1 << 14)
    values = np.random.default_rng(1).standard_normal((world, n)).astype(np.float32)
    x = devices.tensors(values)
    devices.launch(
        lambda rank, context: collectives.pull_sum[(2,)](
            context, x[rank], x[rank], n // world, mesh, world, True, True, block
        )
    )
    for found in x:
        np.testing.assert_array_equal(found, x[0])
        np.testing.assert_allclose(found, values.astype(np.float64).sum(0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("reads", [False, True])
def test_all_members_have_what_each_had(reads):
    world, n = 3, 333
    mesh, devices = device_mesh({"device": world}), simulate(world, bytes=1 << 14)
    values = np.random.default_rng(2).standard_normal((world, n)).astype(np.float32)
    kernel = collectives.pull_all if reads else collectives.push_all
    x, outs = devices.tensors(values), devices.zeros(world * n)
    devices.launch(lambda rank, context: kernel[(2,)](context, x[rank], outs[rank], n, mesh, world, 128))
    for found in outs:
        np.testing.assert_array_equal(found, values.reshape(-1))
