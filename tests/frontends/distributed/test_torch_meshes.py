"""Meshes as torch writes them, and what a DTensor on them has."""

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Shard

from tle_raw.distributed import (
    device_mesh,
    from_placements,
    from_torch_mesh,
    local_box,
    to_placements,
    to_torch_mesh,
)
from tle_raw.errors import MeshError, MeshTypeError

pytestmark = pytest.mark.one_triton


@pytest.fixture
def eight_ranks():
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=5, world_size=8, store=FakeStore())
    yield
    dist.destroy_process_group()


def test_a_mesh_is_the_same_in_torch_and_back(eight_ranks):
    mesh = device_mesh({"node": [("rows", 2)], "device": [("x", 2), ("y", 2)]})
    of_torch = to_torch_mesh(mesh, "cpu")
    assert of_torch.mesh.tolist() == np.arange(8).reshape(2, 2, 2).tolist()
    assert tuple(of_torch.get_coordinate()) == (1, 0, 1)
    assert from_torch_mesh(of_torch, {"rows": "node"}) == mesh
    assert to_torch_mesh(mesh[1, :, 0], "cpu").mesh.tolist() == [4, 6]


def test_a_dtensor_has_the_part_that_its_sharding_says(eight_ranks):
    of_torch = dist.init_device_mesh("cpu", (2, 4), mesh_dim_names=("x", "y"))
    whole = torch.arange(7 * 5).view(7, 5)
    tensor = DTensor.from_local(torch.empty(3, 2), of_torch, [Shard(0), Shard(1)], run_check=False)
    spec = from_placements(from_torch_mesh(of_torch), tensor.placements, 2)
    assert list(tensor.placements) == to_placements(spec)
    rows, columns = whole.chunk(2)[1], torch.chunk(whole.chunk(2)[1], 4, dim=1)
    assert rows.shape == (3, 5)
    assert torch.equal(whole[local_box(spec, (7, 5), 5)], columns[1])  # rank 5 stands at (1, 1)


def test_ranks_in_another_order_are_refused(eight_ranks):
    from torch.distributed.device_mesh import DeviceMesh

    with pytest.raises(MeshError, match="order of the mesh"):
        from_torch_mesh(DeviceMesh("cpu", [[0, 2, 4, 6], [1, 3, 5, 7]]))
    with pytest.raises(MeshError, match="is of a level"):
        from_torch_mesh(DeviceMesh("cpu", list(range(8))), {"dim0": "block"})
    with pytest.raises(MeshTypeError, match="no mesh of torch"):
        from_torch_mesh("mesh")
    with pytest.raises(MeshError, match="has blocks"):
        to_torch_mesh(device_mesh({"device": 8, "block": 2}), "cpu")
