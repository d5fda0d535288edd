"""Blocks that load and compute stay behind their branches; those of loads alone, short and long ones are left alone."""

import re
import subprocess
from pathlib import Path

import pytest
from triton.backends.nvidia.compiler import get_ptxas

from tle_raw.linker.ptx.keep_branches import keep_branches

EFFECT = "\tpmevent \t0;"
# A loop that takes new scales now and then.
PTX = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 o, .param .u32 n)
{
	.reg .pred 	%p<4>;
	.reg .b32 	%r<20>;
	.reg .f32 	%f<20>;
	.reg .b64 	%rd<20>;
	ld.param.b64 	%rd1, [x];
	ld.param.b64 	%rd2, [o];
	ld.param.b32 	%r1, [n];
	mov.b32 	%r2, 0;
	mov.b32 	%r3, 0;
	mov.b32 	%r4, 0;
	mov.b32 	%r5, 0;
$L__BB0_1:
	setp.ne.b32 	%p1, %r2, %r3;
	@%p1 bra 	$L__BB0_3;
// %bb.2:                               //   in Loop: Header=BB0_1 Depth=1
	add.s32 	%r3, %r3, 32;
	mul.wide.s32 	%rd3, %r3, 8;
	add.s64 	%rd4, %rd1, %rd3;
	ld.global.nc.b32 	%r6, [%rd4];
	ld.global.nc.b32 	%r7, [%rd4+4];
	shr.u32 	%r8, %r6, 4;
	and.b32 	%r4, %r8, 15;
	// begin inline asm
	{ .reg .b16 low, high; mov.b32 {low, high}, %r7; cvt.u32.u16 %r5, low; }
	// end inline asm
	xor.b32 	%r4, %r4, %r5;
	and.b32 	%r4, %r4, 255;
$L__BB0_3:
	mul.wide.s32 	%rd5, %r2, 4;
	add.s64 	%rd6, %rd1, %rd5;
	ld.global.nc.b32 	%r9, [%rd6];
	mad.lo.s32 	%r10, %r9, %r4, %r5;
	add.s64 	%rd7, %rd2, %rd5;
	st.global.b32 	[%rd7], %r10;
	add.s32 	%r2, %r2, 1;
	setp.lt.s32 	%p2, %r2, %r1;
	@%p2 bra 	$L__BB0_1;
	ret;
}
"""
BRANCH, USES = "\t@%p1 bra \t$L__BB0_3;\n", "\tshr.u32 \t%r8, %r6, 4;\n"


def predicated_loads(text: str, folder) -> int:
    (folder / "k.ptx").write_text(text)
    ptxas = Path(get_ptxas(90).path)
    subprocess.run([ptxas, "-arch=sm_90a", "k.ptx", "-o", "k.cubin"], cwd=folder, check=True)
    sass = subprocess.run(
        [ptxas.with_name("cuobjdump"), "-sass", "k.cubin"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return len(re.findall(r"@!?U?P\d+ LDG", sass))


def test_the_branch_of_such_a_block_stays(tmp_path):
    found = keep_branches(PTX)
    assert found.replace(EFFECT + "\n", "") == PTX and f"{BRANCH}{EFFECT}\n" in found
    assert predicated_loads(PTX, tmp_path) > 0 and predicated_loads(found, tmp_path) == 0


def test_a_block_that_jumps_to_the_same_place_is_one_too():
    jumps = PTX.replace("$L__BB0_3:\n", "\tbra.uni \t$L__BB0_3;\n$L__BB0_3:\n")
    assert keep_branches(jumps).count(EFFECT) == 1


ALONE = {
    "one load": PTX.replace("\tld.global.nc.b32 \t%r7, [%rd4+4];\n", "\tadd.s32 \t%r7, %r6, 1;\n"),
    "nothing is computed of them": PTX.replace("%r6, 4;", "%r2, 4;").replace("{low, high}, %r7;", "{low, high}, %r2;"),
    "few instructions": PTX.replace("\txor.b32 \t%r4, %r4, %r5;\n\tand.b32 \t%r4, %r4, 255;\n", ""),
    "many": PTX.replace(USES, USES + "\tadd.s32 \t%r11, %r11, 1;\n" * 40),
    "another way in": PTX.replace(USES, "$L__BB0_9:\n" + USES),
    "another way out": PTX.replace(USES, USES + "\t@%p3 bra \t$L__BB0_1;\n"),
    "a barrier": PTX.replace(USES, USES + "\tbar.sync \t0;\n"),
    "another place behind it": PTX.replace(BRANCH, "\t@%p1 bra \t$L__BB0_1;\n"),
}


@pytest.mark.parametrize("what", ALONE)
def test_others_are_left_alone(what):
    assert ALONE[what] != PTX and keep_branches(ALONE[what]) == ALONE[what]


def test_debug_information_stays_behind_the_code():
    section = '\n\t.section\t.debug_info\n\t{\n.b8 1 // "@%p1 bra \t$L__BB0_3;"\n\t}\n'
    assert keep_branches(PTX + section) == keep_branches(PTX) + section
