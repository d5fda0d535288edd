"""Programs that keep in step: what it compiles to, that a CPU's do not wait, and what is refused."""

import re
from pathlib import Path

import numpy as np
import pytest

import tle_raw
from tests.frontends.gpu import step_kernels as kernels
from tests.support import cause_of, compile_kernel, ptx_calls

POINTERS = {"o_ptr": "*i32", "came_ptr": "*i32", "counter_ptr": "*i64", "turns": "i32"}


@pytest.mark.parametrize("capability", [80, 90])
def test_one_thread_counts_and_looks_again(capability):
    ptx = compile_kernel(kernels.walk, POINTERS, {}, capability).asm["ptx"]
    counted = re.findall(r"(?:atom|red)\.global\.gpu\.relaxed\.add\.u64", ptx)
    assert len(counted) == 3, "an arrival, one who gives up, the rest"
    assert ptx.count("ld.volatile.global") == 2, "of the loop, and the kernel's own"


def test_a_partition_of_one_warp_keeps_in_step_alone():
    types = {"x_ptr": "*fp32", "o_ptr": "*fp32", "counter_ptr": "*i64", "n": "i32"}
    kernel = compile_kernel(kernels.in_a_partition, types, {"B": 128})
    ptx = kernel.asm["ptx"]
    assert not ptx_calls(kernel) and len(re.findall(r"\.entry\b", ptx)) == 1 and kernel.asm["cubin"]
    looks = ptx.index("ld.volatile.global")
    meets = ptx[ptx.rindex("atom.global.gpu.relaxed.add.u64", 0, looks) : looks]
    assert "bar.warp.sync" in meets and not re.search(r"\bbar(rier)?(\.cta)?\.sync", meets), "the warp is alone"


def test_a_cpus_programs_do_not_wait():
    pytest.importorskip("torch_mlir")
    o, came, counter = np.zeros((7, 5), np.int32), np.zeros(5, np.int32), np.zeros(1, np.int64)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        kernels.walk[(7,)](o, came, counter, 5)
    assert counter[0] == 0 and list(came) == [7, 7, 7, 5, 3]
    assert all((row[: 5 - program % 3] > 0).all() for program, row in enumerate(o))


REFUSED = {
    "a counter of 32 bits": "a pointer to an int64",
    "no counter": "a pointer to an int64",
    "a turn of floats": "turn",
    "many turns": "turns",
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    with pytest.raises(Exception) as raised:
        compile_kernel(kernels.wrong, {"x_ptr": "*i32", "counter_ptr": "*i64", "n": "i32"}, {"WHAT": what})
    found = cause_of(raised.value)
    assert type(found) is tle_raw.errors.ArgumentTypeError and REFUSED[what] in str(found), found
    lines = (Path(__file__).parent / "step_kernels.py").read_text().splitlines()
    number = next(i for i, line in enumerate(lines) if f'WHAT == "{what}"' in line) + 2
    assert f"step_kernels.py:{number}" in str(found), found
