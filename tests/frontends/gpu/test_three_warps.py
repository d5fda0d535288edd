"""Workers of three warps: on the CPU, what they compile to, and what they cannot do."""

import re

import pytest

import tle_raw
from tests.frontends.gpu import three_warps_kernels as kernels
from tests.support import cause_of, compile_kernel, ptx_calls

TYPES = {"x": "*fp32", "y": "*fp32", "counts": "*i32", "others": "*i32"}


def constants(warps):
    return {"rows": 3, "B": kernels.SIZE, "FRAGMENT": kernels.turned, "WARPS": warps}


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("warps", [3, 1])
def test_a_fragment_has_the_threads_that_were_asked_for(warps):
    torch = pytest.importorskip("torch")
    x, y = torch.randn(3 * kernels.SIZE), torch.randn(3 * kernels.SIZE)
    counts, others = torch.zeros(2, dtype=torch.int32), torch.zeros(2, dtype=torch.int32)
    wanted = kernels.expected(x, 3), kernels.expected(y, 3)
    kernels.three[(1,)](x, y, counts, others, **constants(warps), num_warps=4)
    assert (x - wanted[0]).abs().max() < 1e-5 and (y - wanted[1]).abs().max() < 1e-5
    assert counts.tolist() == [3 * 128, 128] and others.tolist() == [3 * 32 * warps, 32 * warps]


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("capability", [90, 80])
def test_its_threads_meet_at_a_barrier_of_their_own_and_the_fourth_warp_goes_by(capability):
    kernel = compile_kernel(kernels.three, TYPES, constants(3), capability)
    ptx = kernel.asm["ptx"]
    assert not ptx_calls(kernel) and "cubin" in kernel.asm and kernel.metadata.num_warps == 8
    met = {tuple(map(int, each)) for each in re.findall(r"\bbar\.sync\s+(\d+), (\d+);", ptx)}
    assert met == {(0, 128), (2, 128), (15, 96)}
    assert tle_raw.report(kernel).one_kernel


def test_named_barriers_do_not_count_them():
    with pytest.raises(Exception) as raised:
        compile_kernel(kernels.met, {"x": "*fp32"})
    assert "those of 3 warps for fragments and of 4 for all else" in str(cause_of(raised.value))


def test_on_sm_100_a_worker_that_triton_runs_with_fewer_warps_is_refused():
    with pytest.raises(tle_raw.errors.RegionError, match="fewer warps than asked for"):
        compile_kernel(kernels.three, TYPES, constants(3), 100)
