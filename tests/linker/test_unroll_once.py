"""Loops that LLVM has unrolled, and that count their turns down in 64 bits, keep ptxas from unrolling them again."""

import pytest

from tle_raw.linker.ptx.branch_back import branch_back
from tle_raw.linker.ptx.unroll_once import unroll_once

pytestmark = pytest.mark.one_triton

LOOP = """
.visible .entry kernel()
{
	.reg .pred 	%p<5>;
	.reg .b64 	%rd<5>;
	add.s64 	%rd1, %rd1, -4;
$L__BB0_1:                              // =>This Inner Loop Header: Depth=1
	.loc	1 4 5
	ld.global.b32 	%r1, [%rd3];
	add.s64 	%rd2, %rd2, -4;
	setp.eq.b64 	%p3, %rd2, 0;
	.loc	1 3 2
	@%p3 bra 	$L__BB0_2;
	bra.uni 	$L__BB0_1;
$L__BB0_2:
	ret;
}
	.section	.debug_str
	{
	}
"""
MARKED = LOOP.replace("Depth=1\n", 'Depth=1\n\t.pragma "nounroll";\n')


def test_the_pragma_stands_at_the_begin_of_the_loop():
    assert unroll_once(LOOP) == MARKED


def test_a_loop_that_goes_back_by_its_condition_is_one_too():
    assert unroll_once(branch_back(LOOP)) == branch_back(MARKED) != MARKED


def test_loops_with_branches_in_them_are_meant_too():
    text = LOOP.replace(
        "\tadd.s64 	%rd2",
        "\t@%p1 bra 	$L__BB0_3;\n\tst.global.b32 	[%rd3], %r1;\n$L__BB0_3:\n\tadd.s64 	%rd2",
    )
    assert unroll_once(text).count("nounroll") == 1


def test_what_is_marked_stays():
    assert unroll_once(MARKED) == MARKED


@pytest.mark.parametrize(
    "change",
    [
        ("%rd2, -4", "%rd2, -1"),  # not unrolled before
        ("%rd2, -4", "%rd2, 4"),  # an address, or an index that goes up
        ("%rd2, %rd2, -4", "%rd2, %rd4, -4"),
        ("%rd2, 0", "%rd2, 64"),
        ("%rd2, 0", "%rd1, 0"),  # counted before the loop
        ("eq.b64", "gt.s64"),
        ("%p3 bra", "%p4 bra"),
        ("bra.uni 	$L__BB0_1", "bra.uni 	$L__BB0_2"),
        ("\tadd.s64 	%rd2, %rd2, -4;", "\t// begin inline asm\n\tadd.s64 	%rd2, %rd2, -4;\n\t// end inline asm"),
    ],
)
def test_other_loops_are_ptxas_own(change):
    text = LOOP.replace(*change)
    assert text != LOOP and unroll_once(text) == text


def test_counting_in_32_bits_is_what_nvcc_does_too():
    text = LOOP.replace("add.s64 	%rd2, %rd2", "add.s32 	%r2, %r2").replace(
        "b64 	%p3, %rd2", "b32 	%p3, %r2"
    )
    assert unroll_once(text) == text


def test_functions_beside_the_kernel_number_their_own_registers():
    text = LOOP + ".func helper()\n{\n\tret;\n}\n"
    assert unroll_once(text) == text
