"""Meshes of GPUs, clusters and blocks: axes, parts, and what a mesh cannot be."""

import numpy as np
import pytest

from tle_raw.errors import MeshError, MeshIndexError, MeshTypeError, TLEError
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.frontends.distributed.topology import MeshConfig

pytestmark = pytest.mark.one_triton

WHOLE = {"node": [("node_x", 2), ("node_y", 3)], "device": 4, "block_cluster": [("x", 2), ("y", 1)], "block": 5}


def test_axes_have_names_sizes_and_levels():
    mesh = device_mesh(WHOLE)
    assert mesh.shape == (2, 3, 4, 2, 1, 5) and mesh.ndim == 6 and mesh.size == 240
    assert mesh.dim_names == ("node_x", "node_y", "device", "x", "y", "block")
    assert [axis.level for axis in mesh.axes] == ["node", "node", "device", "block_cluster", "block_cluster", "block"]
    assert mesh.physical_ids == tuple(range(240))
    assert mesh.launch_shape == mesh.shape and mesh.launch_dim_names == mesh.dim_names


def test_a_config_is_the_mapping_of_what_it_names():
    config = MeshConfig(device=2, block_cluster=[("x", 2)])
    assert config.to_dict() == {"device": 2, "block_cluster": [("x", 2)]}
    assert repr(config) == "MeshConfig(device=2, block_cluster=[('x', 2)])"
    assert device_mesh(config) == device_mesh(config.to_dict())


def test_a_cluster_is_a_block_cluster():
    (axis,) = device_mesh({"cluster": [("x", 2)]}).axes
    assert axis.level == "block_cluster"


INDICES = [1, -1, slice(None), slice(1, None), slice(None, None, 2), slice(None, None, -1)]


def test_parts_are_numpys():
    mesh, members = device_mesh({"node": 2, "device": 3, "block": 4}), np.arange(24).reshape(2, 3, 4)
    rng = np.random.default_rng(0)
    tried = [(1,), (..., 2), (0, ..., 1), (slice(None), 2), (), (...,)]
    tried += [tuple(INDICES[i] for i in rng.integers(0, len(INDICES), rng.integers(1, 4))) for _ in range(200)]
    for index in tried:
        part, expected = mesh[index], members[index]
        assert part.shape == expected.shape and part.physical_ids == tuple(expected.ravel()), index
        assert part.launch_shape == (2, 3, 4) and part.launch_dim_names == ("node", "device", "block")


def test_parts_of_parts_keep_the_numbers_of_the_launch():
    mesh = device_mesh({"block_cluster": [("x", 4), ("y", 4)]})
    part = mesh[1:, ::2][1]
    assert part.dim_names == ("y",) and part.physical_ids == (8, 10)
    assert part.launch_axes == mesh.axes


def test_flat_and_reshaped():
    mesh = device_mesh({"device": 4, "block_cluster": [("x", 2), ("y", 3)]})
    flat = mesh.flatten()
    assert flat.shape == (24,) and flat.dim_names == ("flat",) and flat.launch_shape == (4, 2, 3)
    assert mesh.reshape(8, -1).shape == mesh.reshape((8, 3)).shape == (8, 3)
    assert mesh.reshape(8, 3)[7].physical_ids == (21, 22, 23)
    assert device_mesh({"block": 6}).reshape(2, 3).axes[0].level == "block" and mesh.reshape(24).axes[0].level == ""


def test_meshes_are_values():
    one, same, other = device_mesh(WHOLE), device_mesh(dict(WHOLE)), device_mesh({**WHOLE, "block": 6})
    assert one == same and hash(one) == hash(same) and repr(one) == repr(same)
    assert one != other and repr(one) != repr(other)
    assert one[0] != one[1] and repr(one[0]) != repr(one[1]), "Triton's keys of kernels hold what is printed"
    assert device_mesh({"device": [("x", 2)]}) != device_mesh({"block": [("x", 2)]})
    assert repr(device_mesh({"device": [("x", 2)]})) != repr(device_mesh({"block": [("x", 2)]}))


def test_axes_are_found_by_name_and_number():
    mesh = device_mesh(WHOLE)
    assert mesh.axis("device") == 2 and mesh.axis(-1) == 5 and mesh.axis(0) == 0


WRONG = {
    "no levels": (lambda: device_mesh({}), MeshError, "an axis at least"),
    "no mapping": (lambda: device_mesh([2, 2]), MeshTypeError, "a mapping of levels"),
    "a level that nobody knows": (lambda: device_mesh({"rack": 2}), MeshError, "`rack` is no level"),
    "a size that is text": (lambda: device_mesh({"node": "2"}), MeshTypeError, "level `node`"),
    "a size that is a truth value": (lambda: device_mesh({"node": True}), MeshTypeError, "level `node`"),
    "a level without axes": (lambda: device_mesh({"node": []}), MeshError, "level `node` has no axis"),
    "an empty axis": (lambda: device_mesh({"node": [("x", 0)]}), MeshError, "axis `x` is empty"),
    "an axis without a name": (lambda: device_mesh({"node": [2]}), MeshTypeError, "level `node`"),
    "a name twice": (lambda: device_mesh({"node": [("x", 2)], "device": [("x", 2)]}), MeshError, "called `x`"),
    "an axis that is not there": (lambda: device_mesh(WHOLE).axis("z"), MeshError, "no axis `z`"),
    "a number of no axis": (lambda: device_mesh(WHOLE).axis(6), MeshIndexError, "has 6 axes"),
    "an index beyond": (lambda: device_mesh({"node": 2})[2], MeshIndexError, "beyond axis `node`"),
    "too many indices": (lambda: device_mesh({"node": 2})[0, 0], MeshIndexError, "one index for each axis"),
    "two dots": (lambda: device_mesh(WHOLE)[..., 0, ...], MeshIndexError, "one `...` at most"),
    "an index of another type": (lambda: device_mesh({"node": 2})["node"], MeshTypeError, "integers, slices"),
    "nothing left": (lambda: device_mesh({"node": 2})[2:], MeshIndexError, "nothing of axis `node`"),
    "another size": (lambda: device_mesh({"node": 6}).reshape(4, -1), MeshError, "no such shape"),
    "a shape that is text": (lambda: device_mesh({"node": 6}).reshape("6"), MeshTypeError, "is integers"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_a_mesh_cannot_be(what):
    call, error, words = WRONG[what]
    with pytest.raises(error, match=words) as raised:
        call()
    assert isinstance(raised.value, TLEError)
