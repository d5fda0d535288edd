"""Promises are checked on the finished kernel."""

import pytest

from tests.linker.test_ptx import DIRECTIVES, KERNEL
from tle_raw.errors import VerificationError
from tle_raw.linker.machine_code.sass import CubinFacts
from tle_raw.linker.verify import find_problems, verify_kernel

pytestmark = pytest.mark.one_triton


def whats(*arguments, **options):
    return [row.what for row in find_problems(*arguments, inlined={"frag": True, "apart": False}, **options)]


def kernel(call, more=""):
    return f"{more}.visible .entry k() {{ {call} ret; }}\n"


def test_a_clean_kernel_passes():
    verify_kernel(DIRECTIVES, inlined={"frag": True})


def test_a_call_to_an_inlined_region_is_a_problem():
    assert whats(kernel("call.uni frag, ();")) == ["PTX line 1"]


def test_a_call_to_a_region_kept_apart_is_none():
    assert whats(kernel("call.uni apart, ();")) == []


def test_an_indirect_call_is_always_a_problem():
    assert whats(kernel("call (), %rd1, (), p;")) == ["PTX line 1"]


@pytest.mark.parametrize("text", ["", kernel("") + kernel("").replace("k()", "l()")])
def test_there_is_exactly_one_entry(text):
    assert whats(text) == ["entry points in the PTX"]


def test_undefined_functions_are_named():
    (row,) = find_problems(kernel("", ".extern .func nowhere();\n.extern .func vprintf();\n"), inlined={})
    assert "nowhere" in row.got


def test_the_machine_code_is_checked_too():
    facts = CubinFacts(entries=("k",), calls=("frag", "$__internal_0_$__cuda_sm20_div_rn_f64_full"))
    assert whats(kernel(""), facts) == ["SASS"]


def test_without_tools_nothing_is_claimed_about_machine_code():
    assert whats(kernel(""), CubinFacts(reason="no tool")) == []


def test_problems_are_raised_as_a_table():
    with pytest.raises(VerificationError, match="promised") as caught:
        verify_kernel(KERNEL, inlined={"helper$mix": True})
    assert len(caught.value.table) == 2
