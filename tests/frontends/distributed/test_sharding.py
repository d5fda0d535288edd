"""Shardings, their parts, and what leads from one to another, against NumPy and torch's DTensor."""

import itertools

import numpy as np
import pytest

from tests.documents import examples, text
from tle_raw.errors import MeshError, MeshTypeError
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.frontends.distributed.parts import coordinates, local_box
from tle_raw.frontends.distributed.placements import from_placements, to_placements
from tle_raw.frontends.distributed.sharding import B, P, S, ShardingSpec, make_sharded_tensor, sharding
from tle_raw.frontends.distributed.transitions import Step, transitions

pytestmark = pytest.mark.one_triton

MESH = device_mesh({"device": 4, "cluster": [("x", 2), ("y", 2)], "block": 4})


def test_each_axis_is_in_one_state():
    spec = sharding(MESH, split=[["x", "y"], "device"], partial=["block"])
    assert [spec.axis_state(axis) for axis in MESH.dim_names] == ["S", "S", "S", "P"] and spec.broadcast == ()
    assert spec.split_dim("y") == 0 and spec.split_dim(0) == 1 and spec.split_dim("block") is None
    assert spec.parts() == (4, 4)
    assert sharding(MESH).broadcast == MESH.dim_names


def test_the_states_have_names():
    named = sharding(MESH, split=[S(["x", "y"]), B, S("device")], partial=P("block"))
    assert named == sharding(MESH, split=[("x", "y"), None, "device"], partial="block")


WRONG = {
    "no mesh": (lambda: sharding(4, ["x"]), MeshTypeError, "belongs to a mesh"),
    "one axis for all dims": (lambda: sharding(MESH, "x"), MeshTypeError, "for each dim"),
    "an axis that is not there": (lambda: sharding(MESH, ["z"]), MeshError, "no axis `z`"),
    "an axis twice": (lambda: sharding(MESH, ["x", "x"]), MeshError, "`x` of the mesh is used twice"),
    "split and partial": (lambda: sharding(MESH, ["device"], ["device"]), MeshError, "`device` of the mesh is used"),
    "a number for a name": (lambda: sharding(MESH, [0]), MeshTypeError, "`split` names axes"),
    "another rank": (lambda: make_sharded_tensor("x", sharding(MESH, ["x", None]), [4]), MeshError, "another rank"),
    "no sharding": (lambda: make_sharded_tensor("x", MESH), MeshTypeError, "has a sharding"),
    "no sizes": (lambda: make_sharded_tensor("x", sharding(MESH, ["x"]), ["4"]), MeshTypeError, "is integers"),
    "two meshes": (lambda: transitions(sharding(MESH), sharding(MESH[0])), MeshError, "keeps its mesh"),
    "two ranks": (lambda: transitions(sharding(MESH, ["x"]), sharding(MESH, ["x", None])), MeshError, "two ranks"),
    "placements of another number": (lambda: from_placements(MESH, [], 2), MeshError, "one placement for each axis"),
    "no such member": (lambda: local_box(sharding(MESH, ["x"]), (4,), 64), MeshError, "no such member"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_a_sharding_cannot_be(what):
    call, error, words = WRONG[what]
    with pytest.raises(error, match=words):
        call()


def test_a_sharded_tensor_knows_the_whole():
    tensor = make_sharded_tensor("x_ptr", sharding(MESH, ["device", "block"]), [4, 8])
    assert tensor.handle == "x_ptr" and tensor.shape == (4, 8) and tensor.sharding.split == (("device",), ("block",))
    assert make_sharded_tensor("x_ptr", sharding(MESH)).shape is None


OPERATIONS = {
    ("P", "B"): "all_reduce",
    ("P", "S"): "reduce_scatter",
    ("S", "B"): "all_gather",
    ("S", "S"): "all_to_all",
    ("B", "S"): "slice",
    ("B", "P"): "keep_first",
    ("S", "P"): "pad",
}


def in_state(mesh, states):
    """A sharding of a matrix by the state of each axis."""
    split = [[a for a, s in zip(mesh.dim_names, states, strict=True) if s == f"S{dim}"] for dim in (0, 1)]
    return sharding(mesh, split, [a for a, s in zip(mesh.dim_names, states, strict=True) if s == "P"])


@pytest.mark.parametrize("states", list(itertools.product(("S0", "S1", "P", "B"), repeat=2)), ids="-".join)
def test_one_axis_takes_one_operation(states):
    mesh = device_mesh({"device": 3})
    steps = transitions(in_state(mesh, states[:1]), in_state(mesh, states[1:]))
    expected = [] if states[0] == states[1] else [OPERATIONS[states[0][0], states[1][0]]]
    assert [step.operation for step in steps] == expected


def distribute(whole: np.ndarray, spec: ShardingSpec, rng) -> list[np.ndarray]:
    """What each member has of a whole tensor, by the definition; sums are of random terms."""
    size, names = spec.mesh.size, spec.mesh.dim_names
    summed = [names.index(name) for name in spec.partial]
    groups: dict[tuple[int, ...], list[int]] = {}
    for member in range(size):
        places = coordinates(spec.mesh.shape, member)
        groups.setdefault(tuple(p for i, p in enumerate(places) if i not in summed), []).append(member)
    found = [np.empty(0)] * size
    for members in groups.values():
        terms = rng.integers(-9, 9, (len(members), *whole.shape)).astype(np.float64)
        terms[-1] = whole - terms[:-1].sum(0)
        for member, term in zip(members, terms, strict=True):
            found[member] = term[local_box(spec, whole.shape, member)]
    return found


def collect(parts: list[np.ndarray], spec: ShardingSpec, shape) -> np.ndarray | None:
    """The whole tensor from what the members have; None where two that should have the same do not."""
    whole = np.full(shape, np.nan)
    summed = [spec.mesh.dim_names.index(name) for name in spec.partial]
    sums: dict[tuple[int, ...], np.ndarray] = {}
    boxes = {}
    for member, part in enumerate(parts):
        places = coordinates(spec.mesh.shape, member)
        key = tuple(p for i, p in enumerate(places) if i not in summed)
        sums[key] = sums.get(key, 0) + part
        boxes[key] = local_box(spec, shape, member)
    for key, box in boxes.items():
        if sums[key].shape != whole[box].shape:
            return None
        known = ~np.isnan(whole[box])
        if not np.array_equal(whole[box][known], sums[key][known]):
            return None
        whole[box] = sums[key]
    return whole


def after_step(step: Step, spec: ShardingSpec) -> ShardingSpec:
    dims = [list(names) for names in spec.split]
    sums = [name for name in spec.partial if name != step.axis]
    for names in dims:
        if step.axis in names:
            assert names[-1] == step.axis, "only the innermost axis can be taken away"
            names.remove(step.axis)
    if step.operation in ("reduce_scatter", "all_to_all", "slice"):
        dims[step.dim].append(step.axis)
    if step.operation in ("keep_first", "pad"):
        sums.append(step.axis)
    return sharding(spec.mesh, dims, sums)


def perform(step: Step, parts: list[np.ndarray], spec: ShardingSpec, shape) -> tuple[list[np.ndarray], ShardingSpec]:
    """A collective operation by what its members may know: the parts of those that differ along its axis alone."""
    target, number = after_step(step, spec), spec.mesh.dim_names.index(step.axis)
    found = []
    for member in range(spec.mesh.size):
        places = coordinates(spec.mesh.shape, member)
        group = [
            other
            for other in range(spec.mesh.size)
            if all(a == b or i == number for i, (a, b) in enumerate(zip(places, coordinates(spec.mesh.shape, other))))
        ]
        mine, box = local_box(spec, shape, member), local_box(target, shape, member)
        if step.operation == "keep_first":
            found.append(parts[member] if places[number] == 0 else np.zeros_like(parts[member]))
            continue
        if step.operation == "slice":
            group = [member]
        room = np.zeros(shape)
        for other in [member] if step.operation == "pad" else group:
            where = local_box(spec, shape, other)
            if step.operation in ("all_reduce", "reduce_scatter"):
                assert where == mine
                room[where] += parts[other]
            else:
                room[where] = parts[other]
        found.append(room[box])
    return found, target


def random_spec(mesh, rng, rank):
    dims, sums = [[] for _ in range(rank)], []
    for name in rng.permutation(mesh.dim_names):
        where = rng.integers(0, rank + 2)
        if where < rank:
            dims[where].append(str(name))
        elif where == rank:
            sums.append(str(name))
    return sharding(mesh, dims, sums)


MESHES = [{"device": size} for size in (2, 4, 8)]
MESHES += [{"node": a, "device": b} for a, b in ((2, 2), (2, 4), (4, 2))] + [{"node": 2, "device": 3, "block": 2}]


@pytest.mark.parametrize("topology", MESHES, ids=str)
def test_steps_lead_from_each_sharding_to_each_other_one(topology):
    mesh, rng = device_mesh(topology), np.random.default_rng(len(str(topology)))
    states = list(itertools.product(("S0", "S1", "P", "B"), repeat=mesh.ndim))
    pairs = [(in_state(mesh, a), in_state(mesh, b)) for a in states for b in states]
    if len(pairs) > 300:
        pairs = [pairs[i] for i in rng.choice(len(pairs), 300, replace=False)]
    pairs += [(random_spec(mesh, rng, 3), random_spec(mesh, rng, 3)) for _ in range(60)]
    for before, after in pairs:
        shape = tuple(rng.integers(1, 12, before.rank))
        whole = rng.integers(-99, 99, shape).astype(np.float64)
        parts, spec = distribute(whole, before, rng), before
        for step in transitions(before, after):
            parts, spec = perform(step, parts, spec, shape)
        assert spec.split == after.split and set(spec.partial) == set(after.partial), (before, after)
        assert np.array_equal(collect(parts, after, shape), whole), (before, after, shape)


def test_a_part_goes_from_dim_to_dim_without_being_gathered():
    mesh = device_mesh({"node": 2, "device": 4})
    swapped = transitions(sharding(mesh, ["node", "device"]), sharding(mesh, ["device", "node"]))
    assert [step.operation for step in swapped] == ["all_gather", "all_to_all", "slice"]
    moved = transitions(sharding(mesh, ["node", None], "device"), sharding(mesh, [None, ["node", "device"]]))
    assert moved == [Step("all_to_all", "node", 1, 0), Step("reduce_scatter", "device", 1)]
    assert transitions(sharding(mesh, ["node", None]), sharding(mesh, ["node", None])) == []


@pytest.mark.parametrize("shape", [(7, 5), (8, 3), (1, 9)])
@pytest.mark.parametrize("states", list(itertools.product(("S0", "S1", "B"), repeat=2)), ids="-".join)
def test_parts_are_dtensors(states, shape):
    """Of meshes whose axes split a dim in their own order, as DTensor's do."""
    pytest.importorskip("torch.distributed.tensor")
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor._utils import _compute_local_shape_and_global_offset

    mesh = device_mesh({"node": 2, "device": 4})
    spec = in_state(mesh, states)
    placements = [Replicate() if s == "B" else Shard(int(s[1])) for s in states]
    for member in range(mesh.size):
        sizes, offsets = _compute_local_shape_and_global_offset(
            shape, mesh.shape, list(coordinates(mesh.shape, member)), placements
        )
        box = local_box(spec, shape, member)
        assert tuple(s.stop - s.start for s in box) == tuple(sizes), (member, box)
        if 0 not in sizes:  # where an empty part begins is nobody's business
            assert tuple(s.start for s in box) == tuple(offsets), (member, box)


def test_placements_and_shardings_say_the_same():
    tensor = pytest.importorskip("torch.distributed.tensor")
    mesh = device_mesh({"node": 2, "device": 4, "block": 2})
    for states in itertools.product(("S0", "S1", "P", "B"), repeat=3):
        spec = in_state(mesh, states)
        assert from_placements(mesh, to_placements(spec), 2) == spec
    with pytest.raises(MeshError, match="another order"):
        to_placements(sharding(mesh, [["device", "node"]]))
    kinds = [tensor.Partial("max"), tensor.Shard(2)]
    for kind, words in zip(kinds, ("partial tensors are added", "does not have"), strict=True):
        with pytest.raises(MeshError, match=words):
            from_placements(mesh, [kind, tensor.Replicate(), tensor.Replicate()], 2)
    with pytest.raises(MeshTypeError, match="no counterpart"):
        from_placements(mesh, ["x", tensor.Replicate(), tensor.Replicate()], 2)


def test_the_example_prints_what_the_page_shows(capsys):
    code = examples("docs/distributed.md")["shardings.py"]
    exec(compile(code, "shardings.py", "exec"), {"__name__": "example"})
    assert f"```text\n{capsys.readouterr().out}```" in text("docs/distributed.md")
