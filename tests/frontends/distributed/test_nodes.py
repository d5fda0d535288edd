"""Devices of several nodes, simulated: numbers against NumPy, and what a mesh of nodes wants of its context."""

import pytest

pytest.importorskip("torch_mlir.ir")

import numpy as np

import tle_raw
import tle_raw.language
from tests.frontends.distributed import node_kernels as kernels
from tle_raw.distributed import device_mesh, simulate
from tle_raw.errors import MeshError, PeerError
from tle_raw.frontends.distributed.check_members import check_members

pytestmark = pytest.mark.every_triton(1)


@pytest.fixture(autouse=True)
def on_the_cpu():
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        yield


def values(dtype, rank, shape):
    random = np.random.default_rng(rank)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    return (random.standard_normal(shape) * 50).astype(dtype)


def next_along(axis, rank, nodes, devices):
    node, device = divmod(rank, devices)
    return (node + 1) % nodes * devices + device if axis == "node" else node * devices + (device + 1) % devices


@pytest.mark.parametrize(
    "nodes, devices, axis, dtype",
    [(2, 2, "node", "float32"), (2, 3, "device", "float16"), (3, 1, "node", "int8"), (2, 1, "node", "bool")],
)
def test_tiles_go_along_nodes_and_devices(nodes, devices, axis, dtype):
    mesh, rows, columns, stride = device_mesh({"node": nodes, "device": devices}), 21, 37, 41
    world = simulate(mesh, bytes=1 << 18)
    x = world.tensors([values(dtype, rank, (rows, stride)) for rank in range(mesh.size)])
    into = world.zeros((rows, stride), dtype)
    got, back = (np.zeros((mesh.size, rows, columns), dtype) for _ in range(2))
    sizes = {"mesh": mesh, "AXIS": axis, "NODES": nodes, "DEVICES": devices, "M": 8, "N": 64}
    world.launch(lambda r, c: kernels.exchange[(3,)](c, x[r], into[r], got[r], back[r], rows, columns, stride, **sizes))
    for rank in range(mesh.size):
        peer = next_along(axis, rank, nodes, devices)
        np.testing.assert_array_equal(back[rank], x[peer][:, :columns])
        np.testing.assert_array_equal(got[peer], x[rank][:, :columns])


def test_scattered_elements_arrive():
    mesh, n = device_mesh({"node": 2, "device": 2}), 100
    world, order = simulate(mesh, bytes=1 << 14), np.random.default_rng(1).permutation(n).astype(np.int32)
    x, into = world.tensors([values("float32", r, (n,)) for r in range(4)]), world.zeros(n)
    sizes = {"mesh": mesh, "AXIS": "node", "NODES": 2, "DEVICES": 2, "N": 128}
    world.launch(lambda r, c: kernels.scatter[(1,)](c, x[r], into[r], order, n, **sizes))
    for rank in range(4):
        np.testing.assert_array_equal(into[(rank + 2) % 4][order], x[rank])


def test_many_rounds_of_puts_and_barriers_do_not_race():
    tle_raw.knobs.debug = True
    mesh, n = device_mesh({"node": 2, "device": 2}), 50
    world, outs = simulate(mesh, bytes=1 << 14), np.full((4, n), -1, np.int32)
    x = world.zeros(8 * n, "int32")
    world.launch(lambda r, c: kernels.rounds[(2,)](c, x[r], outs[r], n, 6, mesh, 4, N=32))
    assert not outs.any()


@pytest.mark.parametrize("axis", ["node", "device"])
def test_barriers_and_signals_along_one_axis(axis):
    mesh = device_mesh({"node": 2, "device": 2})
    world, outs = simulate(mesh, bytes=1 << 12), np.zeros((4, 2), np.float32)
    x = world.zeros(1)
    world.launch(lambda r, c: kernels.meet_along[(1,)](c, x[r], outs[r], mesh, axis, 2, 2))
    for rank in range(4):
        peer = next_along(axis, rank, 2, 2)
        np.testing.assert_array_equal(outs[peer], [rank, rank + 100])


def test_pointers_reach_other_nodes_where_they_share_memory():
    mesh = device_mesh({"node": 2, "device": 1})
    world, outs = simulate(mesh, bytes=512), np.zeros((2, 1), np.float32)
    x = world.tensors([np.full(1, 7.0 + rank, np.float32) for rank in range(2)])
    world.launch(lambda r, c: kernels.reach[(1,)](c, x[r], outs[r], 1 - r, mesh))
    np.testing.assert_array_equal(outs[:, 0], [8, 7])


def test_pointers_that_do_not_reach_another_node_are_told_of():
    mesh = device_mesh({"node": 2, "device": 1})
    world, outs = simulate(mesh, bytes=512, shares_memory=False), np.zeros((2, 1), np.float32)
    x = world.zeros(1)
    with pytest.raises(PeerError, match="no pointer reaches the memory of device 1") as caught:
        world.launch(lambda r, c: kernels.reach[(1,)](c, x[r], outs[r], 1 - r, mesh))
    assert caught.value.place.startswith("reach:")
    assert caught.value.hint == "`tle.put`, `tle.get` and `tle.signal` go over the network"


def test_tiles_go_where_no_pointer_reaches():
    mesh, n = device_mesh({"node": 2, "device": 2}), 50
    world, outs = simulate(mesh, bytes=1 << 14, shares_memory=False), np.full((4, n), -1, np.int32)
    x = world.zeros(8 * n, "int32")
    world.launch(lambda r, c: kernels.rounds[(2,)](c, x[r], outs[r], n, 3, mesh, 4, N=32))
    assert not outs.any()


def test_a_mesh_of_nodes_wants_a_context_of_nodes():
    with pytest.raises(Exception, match="the mesh has nodes, and the context reaches the GPUs of one host") as caught:
        simulate(2, bytes=512).launch(lambda r, c: kernels.only_meet[(1,)](c, device_mesh({"node": 2, "device": 1})))
    assert isinstance(caught.value.__cause__, MeshError) and "nvshmem" in str(caught.value)


def test_a_mesh_of_other_nodes_than_the_context_is_refused():
    with pytest.raises(PeerError, match="mesh has other nodes than the context"):
        simulate(device_mesh({"node": 2, "device": 2}), bytes=512).launch(
            lambda r, c: kernels.only_meet[(1,)](c, device_mesh({"node": 4, "device": 1}))
        )


@pytest.mark.one_triton
def test_a_mesh_of_other_nodes_is_refused_before_a_launch_on_gpus():
    class Member:
        layout = simulate(device_mesh({"node": 2, "device": 2}), bytes=512).layout

        def data_ptr(self):
            return 0

    check_members([device_mesh({"node": 2, "device": 2})], [Member()])
    with pytest.raises(MeshError, match="other nodes"):
        check_members([device_mesh({"device": 4})], [Member()])
