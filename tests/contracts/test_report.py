"""What became of a region: inlined into one kernel, nothing called, at the line of its call."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tle_raw
from tests.contracts.running import compiled, pairs, ran
from tests.contracts.subjects import SUBJECTS
from tests.support import ptx_calls, report_of
from tle_raw.linker.machine_code.sass import read_cubin

pytestmark = pytest.mark.every_triton(9)

THREADS = 128
PTXAS_OWN = "$__internal_"  # divisions, which it writes once and calls
# Whose regions become part of the kernel before it is compiled.
TRACED = ("tilelang", "cutile")
# LLVM leaves CuPy's functions calls on a CPU; on GPUs they are inlined.
CALLED_ON_THE_CPU = ("cupy",)
# Applied to each element, in registers.
ELEMENTWISE = ("cupy", "pycuda", "numba")


@pytest.mark.parametrize("name, subject", pairs())
def test_on_a_gpu_the_region_is_inlined_into_one_kernel(name, subject):
    kernel, is_read = compiled(name, subject), name == "cuda" or subject in ("tile", "element")
    report = report_of(kernel, machine_code=is_read)
    assert report.one_kernel and report.entries == (SUBJECTS[subject].kernel.fn.__name__,)
    assert report.ptx_calls == () and report.sass_calls == (() if is_read else None) and report.problems == ()
    (region,) = report.regions
    assert region.inlined and region.call_site.line > 0
    _check_place(region.call_site, name, subject)
    _check_machine_code(kernel, is_read)


def _check_machine_code(kernel, is_read):
    """The same, read without the report."""
    assert len(re.findall(r"\.entry\b", kernel.asm["ptx"])) == 1
    assert ptx_calls(kernel) == [] and ".func" not in kernel.asm["ptx"]
    if not is_read:
        return
    facts = read_cubin(kernel.asm["cubin"])
    assert not facts.reason and len(facts.entries) == 1
    assert not [call for call in facts.calls if not call.startswith(PTXAS_OWN)]


@pytest.mark.parametrize("name, subject", pairs())
def test_on_the_cpu_the_region_is_a_team_or_inlined(name, subject):
    kernel, _ = ran(name, subject)
    report = tle_raw.report(kernel)
    assert report.one_kernel and report.entries == ("tle_launch",) and report.problems == ()
    (region,) = report.regions
    _check_place(region.call_site, name, subject)
    if name in TRACED or subject == "element" or (name in ELEMENTWISE and subject == "scalar"):
        assert region.inlined is (name not in CALLED_ON_THE_CPU) and not region.threads
    else:
        assert region.threads == THREADS and not region.inlined and region.instructions > 0


def _check_place(site, name, subject):
    """A fragment that is called through a function of the dialect's file is called there."""
    wrapped = name in TRACED and subject == "pointer"
    assert Path(site.file).name == (f"{name}.py" if wrapped else "subjects.py")
    assert ("halved(" if wrapped else "FRAGMENT(") in site.text
