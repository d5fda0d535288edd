"""Triton's interpreter and kernels whose programs wait for each other: run by ``test_simulated_devices.py``."""

import torch
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.interpreting import run_chosen
from tle_raw.distributed import device_mesh, simulate
from tle_raw.errors import LaunchError, RegionError

PAIR, BLOCKS = (
    tl.constexpr(device_mesh({"block_cluster": 2})),
    tl.constexpr(device_mesh({"block": [("x", 2), ("y", 3)]})),
)


@triton.jit
def places(out):
    tl.store(out + tl.program_id(0), tle.shard_id(BLOCKS, "x") * 10 + tle.shard_id(BLOCKS, "y"))


@triton.jit
def meeting(out, mesh: tl.constexpr):
    tle.distributed_barrier(mesh)


def refused(error, words, function):
    try:
        function()
    except Exception as e:
        while e is not None and not isinstance(e, error):
            e = e.__cause__
        assert e is not None and words in str(e), words
        return
    raise AssertionError("nothing was raised")


def test_places_in_a_mesh_of_blocks():
    out = torch.zeros(6, dtype=torch.int32)
    places[(6,)](out)
    assert out.tolist() == [0, 1, 2, 10, 11, 12]


def test_what_waits_for_others_is_refused_by_name():
    out = torch.zeros(6)
    refused(RegionError, "a cluster's blocks run together", lambda: meeting[(2,)](out, PAIR))
    refused(RegionError, "none can wait for another", lambda: meeting[(6,)](out, BLOCKS))
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        refused(LaunchError, "Triton's interpreter", lambda: simulate(2).launch(lambda rank, context: None))


if __name__ == "__main__":
    run_chosen(globals())
