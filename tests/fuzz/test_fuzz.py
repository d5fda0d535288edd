"""Random kernels: the CPU backend computes what Triton's interpreter does. README.md says how."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.fuzz.cases import Case, differences, parse
from tests.fuzz.engines import EngineError
from tests.fuzz.programs import FAMILIES, cases

pytestmark = pytest.mark.every_triton(2)

pytest.importorskip("torch")
SHARES = {"elementwise": 0.3, "casts": 0.1, "shapes": 0.15, "reductions": 0.2, "memory": 0.1, "control": 0.15}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_cpu_computes_what_the_interpreter_does(family: str, engines, keep, kernels: int):
    @settings(
        max_examples=max(1, round(kernels * SHARES[family])),
        derandomize=kernels <= 100,
        deadline=None,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(family))
    def run(case: Case) -> None:
        note(case.text())
        want = engines.interpreter.run(case)
        try:
            wrong = differences(case, engines.backend.run(case), want)
        except EngineError as error:
            wrong = [str(error)]
        if wrong:
            keep(case)  # the last one is the smallest
            raise AssertionError("\n".join([*wrong, case.text()]))

    run()


@settings(max_examples=50, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(list(FAMILIES)).flatmap(cases))
def test_a_case_survives_being_written_down(case: Case):
    again = parse(case.text())
    assert again.text() == case.text()
    compile(case.source, "kernel", "exec")
