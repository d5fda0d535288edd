"""Comparisons and steps of one instruction stand where they are used, and short loops stay as they are."""

import pytest

from tle_raw.linker.ptx.sink_values import sink_values

PTX = """.visible .entry k()
{
	mov.u32 	%r1, %tid.x;
	setp.lt.s32 	%p1, %r1, 9;
	or.b32 	%r2, %r1, 32;
	or.b32 	%r3, %r1, 64;
	or.b32 	%r4, %r1, 96;
	or.b32 	%r5, %r1, 128;
	mov.b32 	%r9, 0;
$L__BB0_1:
	st.global.b32 	[%rd1], %r2;
	st.global.b32 	[%rd1], %r3;
	st.global.b32 	[%rd1], %r4;
	st.global.b32 	[%rd1], %r5;
$L__BB0_2:
	add.s32 	%r9, %r9, 1;
	setp.ne.b32 	%p2, %r9, 8;
	@%p2 bra 	$L__BB0_2;
	@%p1 bra 	$L__BB0_1;
	ret;
}
"""


def lines(text: str) -> list[str]:
    return [line.strip().replace("\t", "") for line in text.split("\n")]


def test_each_stands_before_its_use():
    found = lines(sink_values(PTX))
    assert found[found.index("@%p1 bra $L__BB0_1;") - 1] == "setp.lt.s32 %p1, %r1, 9;"
    for name, number in (("%r2", 32), ("%r3", 64), ("%r4", 96), ("%r5", 128)):
        assert found[found.index(f"st.global.b32 [%rd1], {name};") - 1] == f"or.b32 {name}, %r1, {number};"
    assert len(found) == len(lines(PTX))


@pytest.mark.parametrize(
    "change",
    [
        ("mov.b32 \t%r9, 0;", "mov.b32 \t%r9, 0;\n\tmov.b32 \t%r1, 5;"),  # it is another value by then
        ("mov.b32 \t%r9, 0;", "// begin inline asm\n\tadd.s32 %r1, %r1, 1;\n\t// end inline asm"),
        ("mov.b32 \t%r9, 0;", "{ add.s32 %r1, %r1, 1; }"),
        (".visible .entry k()", ".func f()\n{ ret; }\n.visible .entry k()"),
    ],
)
def test_what_may_change_stays(change):
    text = PTX.replace(*change)
    assert text != PTX and sink_values(text) == text


def test_few_values_and_short_loops_stay():
    text = PTX.replace("\tor.b32 \t%r5, %r1, 128;\n", "").replace("\tst.global.b32 \t[%rd1], %r5;\n", "")
    found = lines(sink_values(text))
    assert found.index("or.b32 %r2, %r1, 32;") < found.index("$L__BB0_1:")
    asked = PTX.replace("\tadd.s32 \t%r9, %r9, 1;", "\tselp.b32 \t%r8, %r9, %r1, %p1;\n\tadd.s32 \t%r9, %r9, 1;")
    found = lines(sink_values(asked))
    assert found.index("setp.lt.s32 %p1, %r1, 9;") < found.index("$L__BB0_1:")
