"""Tensors between two GPUs: every change of a sharding of a matrix, small and large, in one step and in two."""

import os
from itertools import product

import numpy as np
import pytest
import torch

from tests.frontends.distributed.reshard_cases import Case, shardings_of_two_dims
from tle_raw.distributed import contexts, device_mesh, largest_part, reshard_part

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices"),
]
MESH = device_mesh({"device": 2})


@pytest.fixture(scope="module")
def members():
    made = contexts([0, 1], bytes=512 << 20, time_limit=8.0)
    yield made
    for context in made:
        context.close()


def run(members, case: Case, algorithm: str) -> list[torch.Tensor]:
    parts, outs = [], []
    for context in members:
        context.reset()
    for rank, context in enumerate(members):
        value = torch.from_numpy(case.part(rank))
        part = context.empty(tuple(value.shape), value.dtype)
        parts.append(part.copy_(value))
    for context in members:
        outs.append(context.empty(largest_part(case.after, case.shape), parts[0].dtype).fill_(77))
    for device in range(2):
        torch.cuda.synchronize(device)
    for loads_only in (True, False):
        for rank, context in enumerate(members):
            with torch.cuda.device(rank):
                reshard_part(
                    context, parts[rank], case.before, case.after, case.shape, outs[rank], algorithm,
                    loads_only=loads_only,
                )  # fmt: skip
    for context in members:
        context.check()
    return outs


# LONG_TESTS=1 takes all shapes with all dtypes.
LONG = os.environ.get("LONG_TESTS") == "1"
SHAPES, DTYPES = [(37, 29), (64, 96), (1024, 2048), (2049, 1030)], ["float32", "float16", "int8"]
CHOSEN = [((37, 29), "float32"), ((1024, 2048), "float16")]


@pytest.mark.parametrize("shape,dtype", list(product(SHAPES, DTYPES)) if LONG else CHOSEN)
def test_every_change_of_a_matrix(members, shape, dtype):
    shardings = shardings_of_two_dims(MESH)
    for number, (before, after) in enumerate((b, a) for b in shardings for a in shardings):
        case = Case(before, after, shape, dtype, number)
        ways = ("one_shot", "two_shot") if before.partial and not after.partial else ("auto",)
        for algorithm in ways:
            for rank, out in enumerate(run(members, case, algorithm)):
                case.check(rank, out.cpu().numpy())


def test_sums_have_the_same_bits_on_both(members):
    shardings = shardings_of_two_dims(MESH)
    summed, whole = (next(s for s in shardings if s.axis_state("device") == state) for state in "PB")
    case = Case(summed, whole, (1000, 1001))
    values = [np.random.default_rng(rank).standard_normal(case.shape).astype(np.float32) for rank in range(2)]
    object.__setattr__(case, "summands", {(rank,): value for rank, value in enumerate(values)})
    found = [out.cpu().numpy() for way in ("one_shot", "two_shot") for out in run(members, case, way)]
    np.testing.assert_array_equal(found[0], values[0] + values[1])
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
