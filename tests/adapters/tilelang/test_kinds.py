"""Each kind of kernel that TileLang's examples hold: its numbers on the CPU where it is traced, and its route."""

import pytest

import tle_raw
from tests.adapters.tilelang.conftest import compile_for_gpu
from tests.adapters.tilelang.kinds import KINDS, LINKED_ONLY, TRACED_ONLY, differences

pytestmark = pytest.mark.every_triton(2)


@pytest.mark.usefixtures("on_cpu")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in LINKED_ONLY])
def test_numbers_on_the_cpu(kind):
    case = KINDS[kind]()
    tle_raw.fragment(case.prim_func).as_kernel()(*case.arguments)
    assert differences(case, case.arguments) == []


@pytest.mark.one_triton
@pytest.mark.parametrize("kind", LINKED_ONLY)
def test_what_is_written_for_threads_is_linked(kind):
    report = tle_raw.report(compile_for_gpu(tle_raw.fragment(KINDS[kind]().prim_func)))
    assert [region.route for region in report.regions] == ["linked"] and report.one_kernel and not report.spills


@pytest.mark.one_triton
@pytest.mark.parametrize("kind", TRACED_ONLY)
def test_what_tilelang_refuses_is_traced(kind):
    prim_func = KINDS[kind]().prim_func
    assert tle_raw.report(compile_for_gpu(tle_raw.fragment(prim_func))).regions[0].route == "traced"
    with pytest.raises(Exception, match="TileLang refused the PrimFunc"):
        compile_for_gpu(tle_raw.fragment(prim_func, route="linked"))


@pytest.mark.parametrize("kind", ["gemm_split_k", "gemm_stream_k", "histogram"])
def test_linked_atomic_updates_are_in_the_machine_code(kind):
    ptx = compile_for_gpu(tle_raw.fragment(KINDS[kind]().prim_func, route="linked")).asm["ptx"]
    assert any(line.strip().startswith(("atom.", "red.")) for line in ptx.splitlines())
