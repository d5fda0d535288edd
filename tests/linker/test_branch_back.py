"""The end of a loop in PTX asks for one more turn, where it asked for the end."""

import pytest

from tle_raw.linker.ptx.branch_back import branch_back

pytestmark = pytest.mark.one_triton

LOOP = """
.visible .entry kernel()
{
	.reg .pred 	%p<5>;
$L__BB0_1:
	.loc	1 4 5
	add.s32 	%r2, %r2, -4;
	setp.COMPARISON 	%p3, %r2, 0;
	.loc	1 3 2
	@%p3 bra 	$L__BB0_2;
$L__tmp7:
	bra.uni 	$L__BB0_1;
$L__BB0_2:
	MORE
	ret;
}
"""


def loop(comparison, more=""):
    return LOOP.replace("COMPARISON", comparison).replace("MORE", more)


@pytest.mark.parametrize("comparison, opposite", [("eq.b32", "ne.b32"), ("ge.s64", "lt.s64"), ("hi.u32", "ls.u32")])
def test_the_comparison_and_both_targets_are_turned(comparison, opposite):
    text = loop(comparison)
    turned = text.replace(comparison, opposite).replace("@%p3 bra \t$L__BB0_2", "@%p3 bra \t$L__BB0_1")
    assert branch_back(text) == turned.replace("bra.uni \t$L__BB0_1", "bra.uni \t$L__BB0_2")


def test_a_comparison_of_floats_has_no_opposite():
    text = loop("eq.f32")
    assert branch_back(text) == text


def test_a_result_that_is_asked_for_again_stays():
    text = loop("eq.b32", "selp.b32 \t%r4, 1, 0, %p3;")
    assert branch_back(text) == text


def test_what_is_no_loop_stays():
    text = loop("eq.b32").replace("bra.uni \t$L__BB0_1", "bra.uni \t$L__BB0_3")
    assert branch_back(text + "$L__BB0_3:\n") == text + "$L__BB0_3:\n"


def test_functions_beside_the_kernel_number_their_own_predicates():
    text = loop("eq.b32") + ".func helper()\n{\n\tret;\n}\n"
    assert branch_back(text) == text
