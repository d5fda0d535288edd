"""Random kernels of TLE's operations: the CPU, the interpreter and the plain form agree, and GPUs get code of them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, note, settings

from tests.fuzz.cases import Array, Case, differences, parse
from tests.fuzz.conftest import CI_TLE
from tests.fuzz.engines import EngineError
from tests.fuzz.tle.programs import FAMILIES, SHARES, cases

pytestmark = pytest.mark.every_triton(2)

pytest.importorskip("torch")
COMPILED = 4  # one of so many is compiled for a GPU, too


@pytest.mark.parametrize("family", FAMILIES)
def test_a_kernel_of_tle_computes_what_its_plain_form_does(family: str, engines, keep_tle, tle_kernels: int):
    drawn = 0

    @settings(
        max_examples=max(1, round(tle_kernels * SHARES[family])),
        derandomize=tle_kernels <= CI_TLE,
        deadline=None,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(family))
    def run(case: Case) -> None:
        nonlocal drawn
        note(case.text())
        drawn += 1
        want = engines.interpreter.run(case.in_plain_form)
        wrong = []
        try:
            wrong += [f"on the CPU: {line}" for line in differences(case, engines.backend.run(case), want)]
            wrong += [f"interpreted: {line}" for line in differences(case, engines.interpreter.run(case), want)]
            if drawn % COMPILED == 1:
                engines.compiler.run(case)
        except EngineError as error:
            wrong.append(str(error))
        if wrong:
            keep_tle(case)
            raise AssertionError("\n".join([*wrong, case.text()]))

    run()


@settings(max_examples=30, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(cases("buffers"))
def test_both_forms_survive_being_written_down(case: Case):
    again = parse(case.text())
    assert again.text() == case.text()
    compile(again.source, "kernel", "exec")
    compile(again.in_plain_form.source, "kernel", "exec")


DOUBLED = """
import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def kernel(o0):
    u = tle.gpu.alloc([16], tl.int32, init_value=2)
    tl.store(o0 + tl.arange(0, 16), u.load() * 2)
"""
PLAIN = """
import triton
import triton.language as tl


@triton.jit
def kernel(o0):
    tl.store(o0 + tl.arange(0, 16), tl.full([16], 4, tl.int32) + (tl.arange(0, 16) == 7))
"""


def test_one_element_that_differs_is_found(engines):
    case = Case(DOUBLED, {"o0": Array("int32", 16, "zero")}, tolerances={"o0": 0.0}, plain=PLAIN)
    (found,) = differences(case, engines.backend.run(case), engines.interpreter.run(case.in_plain_form))
    assert found == "o0: 1 of 16 wrong, allowed error 0: [7] np.int32(4) instead of np.int32(5)"
