"""Products of 64 bits are added to addresses by instructions of their own, in registers of their own."""

import pytest

from tle_raw.linker.ptx.wide_products import wide_products

pytestmark = pytest.mark.one_triton

KERNEL = """
.visible .entry kernel()
{
	.reg .b32 	%r<5>;
	.reg .b64 	%rd<7>;
	mad.wide.s32 	%rd2, %r1, 16, %rd1;
	.loc	1 4 5
	ld.global.b32 	%r2, [%rd2];
	mad.wide.u32 	%rd3, %r1, %r2, %rd3;
	mad.lo.s64 	%rd4, %rd2, %rd3, %rd1;
	ret;
}
	.section	.debug_str
	{
	}
"""


def test_the_product_is_an_instruction_of_its_own():
    assert wide_products(KERNEL) == (
        KERNEL.replace("%rd<7>", "%rd<9>")
        .replace(
            "mad.wide.s32 	%rd2, %r1, 16, %rd1;",
            "mul.wide.s32 	%rd7, %r1, 16;\n	add.s64 	%rd2, %rd1, %rd7;",
        )
        .replace(
            "mad.wide.u32 	%rd3, %r1, %r2, %rd3;",
            "mul.wide.u32 	%rd8, %r1, %r2;\n	add.s64 	%rd3, %rd3, %rd8;",
        )
    )


@pytest.mark.parametrize(
    "text",
    [
        KERNEL.replace(".wide", ".lo"),
        KERNEL.replace("mad.wide", "@%p1 mad.wide"),
        KERNEL.replace("32 	", "16 	"),
        KERNEL.replace("\tmad.wide", "\t// begin inline asm\n\tmad.wide").replace(
            ";\n\tmad.lo", ";\n\t// end inline asm\n\tmad.lo"
        ),
        KERNEL + ".func helper()\n{\n\tret;\n}\n",
    ],
)
def test_other_instructions_stay(text):
    assert wide_products(text) == text


@pytest.mark.parametrize("size", [2, 4, 8])
def test_elements_up_to_eight_bytes_stay_in_one_instruction_but_beside_products_of_matrices(size):
    text = KERNEL.replace("%r1, 16, %rd1", f"%r1, {size}, %rd1")
    assert f"mad.wide.s32 	%rd2, %r1, {size}, %rd1;" in wide_products(text)
    for multiply in ("mma.sync.aligned.m16n8k16.row.col", "wmma.mma.sync.aligned", "wgmma.mma_async.sync.aligned"):
        multiplied = wide_products(text.replace("\tret;", f"\t{multiply}.f32.f16.f16.f32 {{%f1}};\n\tret;"))
        assert f"mul.wide.s32 	%rd7, %r1, {size};" in multiplied and "mad.wide" not in multiplied


@pytest.mark.parametrize(
    ("line", "multiplies"),
    [
        (
            "// begin inline asm\n\t{.reg .b32 low; wgmma.mma_async.sync.aligned {%f1}, %rd1;}\n\t// end inline asm",
            True,
        ),
        ("@!%p1 mma.sync.aligned.m16n8k16.row.col.f32 {%f1};", True),
        ("tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;", True),
        (".loc	2 43 7 // mma.h:43:7 @[ kernel.py:3:1 ]", False),
        ("// wmma.mma.sync.aligned", False),
        ("/* wgmma.mma_async;\n\tmma.sync; */", False),
        ('.file	2 "/cuda/include/crt/mma.h"', False),
    ],
)
def test_products_of_matrices_are_instructions_whatever_files_and_comments_are_called(line, multiplies):
    text = KERNEL.replace("%r1, 16, %rd1", "%r1, 4, %rd1").replace("\tret;", f"\t{line}\n\tret;")
    assert ("mad.wide.s32" not in wide_products(text)) == multiplies


def test_once_is_enough():
    assert wide_products(wide_products(KERNEL)) == wide_products(KERNEL)
