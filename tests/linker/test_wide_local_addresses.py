"""Addresses of local arrays become wide, and pairs of words single ones; or all stays as it is."""

import pytest

from tle_raw.linker.ptx.wide_local_addresses import wide_local_addresses

pytestmark = pytest.mark.one_triton

KERNEL = """
.visible .entry kernel()
{
	.local .align 4 .b8 	__local_depot0[32];
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<7>;
	mov.b64 	%SPL, __local_depot0;
	add.u64 	%rd4, %SPL, 0;
	cvt.u32.u64 	%r1, %rd4;
	st.local.b64 	[%r1+8], %rd5;
	add.s32 	%r2, %r1, %r3;
	ld.local.b32 	%r4, [%r2];
	st.local.b32 	[%r2+4], %r4;
	add.s32 	%r5, %r1, 12;
	ld.local.b32 	%r6, [%r5];
	ld.local.b64 	%rd6, [%r1];
	add.s32 	%r7, %r6, %r4;
	MORE
	ret;
}
"""
WIDE = """
.visible .entry kernel()
{
	.local .align 4 .b8 	__local_depot0[32];
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<9>;
	mov.b64 	%SPL, __local_depot0;
	add.u64 	%rd4, %SPL, 0;
	{ .reg .b32 low, high; mov.b64 {low, high}, %rd5; st.local.b32 [%rd4+8], low; st.local.b32 [%rd4+12], high; }
	cvt.s64.s32 	%rd7, %r3;
	add.s64 	%rd7, %rd4, %rd7;
	ld.local.b32 	%r4, [%rd7];
	st.local.b32 	[%rd7+4], %r4;
	add.s64 	%rd8, %rd4, 12;
	ld.local.b32 	%r6, [%rd8];
	{ .reg .b32 low, high; ld.local.b32 low, [%rd4+0]; ld.local.b32 high, [%rd4+4]; mov.b64 %rd6, {low, high}; }
	add.s32 	%r7, %r6, %r4;
	MORE
	ret;
}
"""


def test_addresses_are_wide_and_accesses_of_one_width():
    assert wide_local_addresses(KERNEL) == WIDE


@pytest.mark.parametrize("more", ["mov.b32 \t%r8, %r1;", "st.global.b32 \t[%rd1], %r2;", "shl.b32 \t%r8, %r2, 1;"])
def test_an_address_that_goes_another_way_stays(more):
    text = KERNEL.replace("MORE", more)
    assert wide_local_addresses(text) == text


def test_code_without_local_arrays_stays():
    text = KERNEL.replace("__local_depot", "other")
    assert wide_local_addresses(text) == text


def test_pairs_are_divided_where_addresses_are_wide_already():
    begin, end = KERNEL[: KERNEL.index("\tcvt.u32")], "\tld.local.b32 \t%r4, [%rd6];\n\tret;\n}\n"
    pair = "\tst.local.b64 \t[%rd4+8], %rd5;\n"
    single = wide_local_addresses(f"{begin}{pair}{end}")
    assert single.startswith(begin) and single.endswith(end) and single.count("st.local.b32") == 2
    assert wide_local_addresses(f"{begin}{pair}\tret;\n}}\n") == f"{begin}{pair}\tret;\n}}\n"
