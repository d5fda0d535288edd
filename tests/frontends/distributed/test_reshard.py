"""``tle.reshard`` on simulated devices, against NumPy: every change, uneven sizes, dtypes; and random ones."""

import os

import pytest

pytest.importorskip("torch_mlir.ir")

import numpy as np

import tle_raw
from tests.frontends.distributed.reshard_cases import Case, random_case, shardings_of_two_dims
from tle_raw.distributed import device_mesh, largest_part, reshard_part, simulate
from tle_raw.frontends.distributed import reshard

pytestmark = pytest.mark.every_triton(2)

# LONG_TESTS=1 takes what is left out here for its time: all changes on all meshes, 2000 random cases.
LONG = os.environ.get("LONG_TESTS") == "1"
TWO, FOUR, EIGHT = (device_mesh(mesh) for mesh in ({"device": 2}, {"node": 2, "device": 2}, {"node": 2, "device": 4}))


@pytest.fixture(autouse=True)
def on_the_cpu():
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        yield


def run(case: Case, algorithm: str = "auto", programs: int = 2, is_shared: bool = True) -> None:
    world = simulate(case.before.mesh, bytes=4 << 20)
    parts = world.tensors([case.part(rank) for rank in range(case.members)])
    outs = world.empty(largest_part(case.after, case.shape), case.dtype)
    if not is_shared:
        outs = [np.empty_like(out) for out in outs]
    world.launch(
        lambda rank, context: reshard_part(
            context, parts[rank], case.before, case.after, case.shape, outs[rank], algorithm, programs
        )
    )
    for rank, out in enumerate(outs):
        case.check(rank, out)


@pytest.mark.parametrize("shape,dtype,step", [((7, 5), "float32", 1), ((32, 48), "float16", 3)])
@pytest.mark.every_triton(1)
def test_every_change_of_a_matrix_along_one_axis(shape, dtype, step):
    shardings = shardings_of_two_dims(TWO)
    pairs = [(b, a) for b in shardings for a in shardings]
    for number, (before, after) in enumerate(pairs if LONG else pairs[::step]):
        run(Case(before, after, shape, dtype, number))


@pytest.mark.parametrize("mesh", [FOUR, EIGHT], ids=["2x2", "2x4"])
@pytest.mark.every_triton(1)
def test_changes_of_a_matrix_along_two_axes(mesh):
    shardings = shardings_of_two_dims(mesh)
    pairs = [(b, a) for b in shardings for a in shardings]
    for number, (before, after) in enumerate(pairs if LONG else pairs[:: 37 if mesh is FOUR else 61]):
        run(Case(before, after, (9, 14), "float32", number))


@pytest.mark.parametrize("algorithm", ["one_shot", "two_shot"])
def test_sums_that_all_get_are_the_same_in_one_step_and_in_two(algorithm):
    summed, whole = (shardings_of_two_dims(EIGHT)[number] for number in (10, 15))
    assert summed.partial == ("node", "device") and whole.broadcast == ("node", "device")
    run(Case(summed, whole, (33, 20), "float32"), algorithm, 3)


@pytest.mark.parametrize("is_shared", [True, False])
def test_large_sums_take_two_steps_where_the_result_is_in_shared_memory(is_shared, monkeypatch):
    monkeypatch.setattr(reshard, "TWO_SHOT_BYTES", 64)
    summed, whole = (shardings_of_two_dims(FOUR)[number] for number in (10, 15))
    run(Case(summed, whole, (70, 130), "float32"), is_shared=is_shared)


@pytest.mark.parametrize("block", range(4))
@pytest.mark.every_triton(1)
def test_random_changes(block):
    count = 500 if LONG else 4
    for seed in range(1000 + block * count, 1000 + (block + 1) * count):
        run(random_case(seed), ("auto", "one_shot", "two_shot")[seed % 3], 1 + seed % 3)
