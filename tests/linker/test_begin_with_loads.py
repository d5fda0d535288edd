"""Loads that each turn of a loop does stand at its begin; others, and those whose address it makes, stay."""

import pytest

from tle_raw.linker.ptx.begin_with_loads import begin_with_loads

PTX = """.visible .entry k()
{
	mov.b64 	%rd1, 0;
$L__BB0_1:
	ld.global.nc.b32 	%r1, [%rd1];
	setp.eq.b32 	%p1, %r1, 0;
	@%p1 bra 	$L__BB0_3;
	bra.uni 	$L__BB0_2;
$L__BB0_3:
	ld.global.nc.b32 	%r2, [%rd1+4];
	setp.eq.b32 	%p2, %r2, 0;
	@%p2 bra 	$L__BB0_4;
	ld.global.nc.b32 	%r3, [%rd1+8];
	add.s32 	%r9, %r9, %r3;
$L__BB0_4:
	ld.global.nc.v2.b32 	{%r4, %r5}, [%rd1+16];
	add.s64 	%rd1, %rd1, 64;
	setp.ne.b64 	%p3, %rd1, 6400;
	@%p3 bra 	$L__BB0_1;
	ret;
$L__BB0_2:
	add.s32 	%r9, %r9, %r1;
	bra.uni 	$L__BB0_3;
}
"""
SECOND, THIRD, FOURTH = (line for line in PTX.split("\n")[9:17] if "ld.global.nc" in line)


def after_first_load(text: str) -> list[str]:
    lines = text.split("\n")
    first = lines.index("\tld.global.nc.b32 \t%r1, [%rd1];")
    return lines[first + 1 : lines.index("\tsetp.eq.b32 \t%p1, %r1, 0;")]


def test_loads_of_each_turn_follow_its_first_one():
    found = begin_with_loads(PTX)
    assert after_first_load(found) == [SECOND, FOURTH]
    assert sorted(found.split("\n")) == sorted(PTX.split("\n"))


@pytest.mark.parametrize(
    "change",
    [
        ("$L__BB0_2:\n", "$L__BB0_2:\n\tadd.s64 \t%rd1, %rd1, 4;\n"),  # another address behind one of the ways
        ("%r9, %r9, %r1;\n\tbra.uni \t$L__BB0_3;", "%r9, %r9, %r1;\n\tret;"),  # or none
        ("%r9, %r9, %r1;\n\tbra.uni \t$L__BB0_3;", "%r9, %r9, %r1;\n\tbra.uni \t$L__BB0_1;"),
        ("$L__BB0_2:\n", "$L__BB0_2:\n\tbar.sync \t0;\n"),
        ("$L__BB0_2:\n", "$L__BB0_2:\n\t// begin inline asm\n\tadd.s64 %rd1, %rd1, 4;\n\t// end inline asm\n"),
        ("ld.global.nc", "ld.global"),
        (".visible .entry k()", ".func f()\n{ ret; }\n.visible .entry k()"),
    ],
)
def test_what_may_differ_stays(change):
    text = PTX.replace(*change)
    assert text != PTX and begin_with_loads(text) == text


def test_a_result_that_is_written_twice_stays():
    text = PTX.replace("%r9, %r9, %r1;", "%r2, %r9, %r1;")
    assert after_first_load(begin_with_loads(text)) == [FOURTH]


def test_few_registers_wait():
    more = "".join(f"\tld.global.nc.b32 \t%r{n}, [%rd1+{4 * n}];\n" for n in range(20, 40))
    text = PTX.replace("$L__BB0_4:\n", "$L__BB0_4:\n" + more)
    assert len(after_first_load(begin_with_loads(text))) == 8
