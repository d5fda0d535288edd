"""Where blocks stand in meshes: the arithmetic of kernels against the meshes themselves."""

from __future__ import annotations

import random

import pytest

from tle_raw.distributed import device_mesh
from tle_raw.errors import MeshError
from tle_raw.frontends.distributed.member_places import (
    BLOCK,
    CLUSTER,
    level_numbers,
    level_size,
    place_along,
    rank_strides,
    ranks_along,
)
from tle_raw.frontends.distributed.parts import coordinates
from tle_raw.regions.clusters import METADATA
from tle_raw.targets.check_launch import check_grid

pytestmark = pytest.mark.one_triton


def random_mesh(rng: random.Random) -> device_mesh:
    levels = rng.sample(["device", "block_cluster", "block"], rng.randint(1, 3))
    return device_mesh(
        {level: [(f"{level}{n}", rng.randint(1, 4)) for n in range(rng.randint(1, 2))] for level in levels}
    )


def random_part(mesh: device_mesh, rng: random.Random) -> device_mesh:
    index = []
    for size in mesh.shape:
        begin, end = sorted(rng.sample(range(size + 1), 2))
        index.append(rng.choice([slice(None), slice(begin, end), slice(begin, end, 2)]))
    return mesh[tuple(index)]


@pytest.mark.parametrize("seed", range(60))
def test_members_of_parts_stand_where_the_mesh_has_them(seed):
    rng = random.Random(seed)
    mesh = random_part(random_mesh(rng), rng)
    for axis, each in enumerate(mesh.axes):
        place = place_along(mesh, axis)
        numbers = level_numbers(mesh, each.level)
        for member, number in enumerate(numbers):
            assert place.of(number) == coordinates(mesh.shape, member)[axis]


def test_blocks_of_a_cluster_are_neighbours_wherever_their_axes_stand():
    for topology in ({"block_cluster": 4, "block": 3}, {"block": 3, "block_cluster": 4}):
        mesh = device_mesh(topology)
        assert (level_size(mesh, CLUSTER), level_size(mesh, BLOCK)) == (4, 3)
        assert place_along(mesh, mesh.axis("block_cluster"))[:2] == (1, 4)


def test_other_shapes_of_a_cluster_have_their_own_places():
    mesh = device_mesh({"block_cluster": [("x", 2), ("y", 4)]})
    flat = mesh.flatten()
    assert [place_along(flat, 0).of(number) for number in range(8)] == list(range(8))
    assert rank_strides(mesh[:, 1:3]) == (1, (4, 1))
    assert rank_strides(mesh.reshape(4, 2)) == (0, (2, 1))
    with pytest.raises(MeshError, match="not along the blocks of a cluster"):
        rank_strides(device_mesh({"device": 2, "block_cluster": 2}))


def test_ranks_along_an_axis_are_those_of_its_members():
    mesh = device_mesh({"block": 3, "block_cluster": [("x", 2), ("y", 2), ("z", 2)]})
    for name, stride in (("x", 4), ("y", 2), ("z", 1)):
        assert ranks_along(mesh, mesh.axis(name)) == (stride, 1 | 1 << stride)


def test_a_grid_that_does_not_fit_is_refused():
    wanted = {"cluster": 4, "programs": 12, "exactly": 0}
    check_grid(wanted, (24, 5, 1))
    with pytest.raises(MeshError, match="no whole number of clusters"):
        check_grid(wanted, (10, 1, 1))
    with pytest.raises(MeshError, match="does not fit the kernel's mesh"):
        check_grid(wanted, (8, 1, 1))
    with pytest.raises(MeshError, match="all blocks of the launch meet"):
        check_grid({"cluster": 0, "programs": 1, "exactly": 8}, (4, 1, 1))


def test_only_launchers_of_such_kernels_look_at_the_grid():
    pytest.importorskip("triton.backends.nvidia.driver")
    from types import SimpleNamespace

    from tle_raw.targets.check_launch import look_for_grids
    from tle_raw.targets.cuda_launchers import looking

    class Launcher:
        def __init__(self, source, metadata):
            self.launch = lambda *arguments: arguments

    Launcher.__init__ = looking(Launcher.__init__, look_for_grids)
    wanted = {"cluster": 2, "programs": 2, "exactly": 0}
    plain, checked = (Launcher(None, SimpleNamespace(**each)) for each in ({}, {METADATA: wanted}))
    assert plain.launch(3, 1, 1, "stream") == (3, 1, 1, "stream")
    assert checked.launch(4, 1, 1, "stream") == (4, 1, 1, "stream")
    with pytest.raises(MeshError):
        checked.launch(3, 1, 1, "stream")
