"""Divisions go to their first use within a straight line, and nothing else moves."""

import pytest

from tle_raw.linker.ptx.spread_divisions import spread_divisions

pytestmark = pytest.mark.one_triton

ROW = ["\tdiv.rn.f32 \t%r1, %r8, %r9;", "\tdiv.rn.f32 \t%r2, %r7, %r9;"]


def spread(*lines):
    return spread_divisions("\n".join(lines)).split("\n")


def test_divisions_go_to_their_stores():
    stores = ["\tst.global.b32 \t[%rd1], %r1;", "\tst.global.b32 \t[%rd1+4], %r2;"]
    assert spread(*ROW, *stores) == [ROW[0], stores[0], ROW[1], stores[1]]


def test_inside_of_a_body():
    stores = ["\tst.global.b32 \t[%rd1], %r1;", "\tst.global.b32 \t[%rd1+4], %r2;"]
    body = [".visible .entry f(", ")", "{", "\t.reg .b32 \t%r<9>;", "$L__func_begin0:"]
    assert spread(*body, *ROW, *stores, "\tret;", "}") == [
        *body, ROW[0], stores[0], ROW[1], stores[1], "\tret;", "}",
    ]  # fmt: skip


def test_chains_follow_one_another():
    root = "\tsqrt.rn.f32 \t%r9, %r3;"
    stores = ["\tst.global.b32 \t[%rd1], %r1;", "\tst.global.b32 \t[%rd1+4], %r2;"]
    assert spread(root, *ROW, *stores) == [root, ROW[0], stores[0], ROW[1], stores[1]]


def test_own_assembly_is_one_statement_and_debug_lines_stay_right():
    convert = ["\t// begin inline asm", "\t{ cvt.rn.f16x2.f32 %r5, %r2, %r1; }", "", "\t// end inline asm"]
    found = spread(
        "\t.loc\t1 2 3", ROW[0], "\t.loc\t1 4 3", ROW[1], "\tadd.s32 \t%r6, %r6, 1;", "\t.loc\t1 9 9", *convert
    )
    assert found == [
        "\t.loc\t1 2 3", "\t.loc\t1 4 3", "\tadd.s32 \t%r6, %r6, 1;", "\t.loc\t1 9 9",
        "\t.loc\t1 2 3", ROW[0], "\t.loc\t1 9 9", "\t.loc\t1 4 3", ROW[1], "\t.loc\t1 9 9", *convert,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "between",
    [
        "$L__BB0_3:",  # another way leads here
        "\tbra.uni \t$L__BB0_4;",
        "\t@%p1 bra \t$L__BB0_4;",
        "\tret;",
        "\tmov.b32 \t%r9, %r30;",  # the divisor of both
        "@%p1 mov.b32 %r9, 1;",
        "\tld.global.v2.b32 \t{%r30, %r9}, [%rd3];",
        "\t// begin inline asm\n\tadd.f32 %r9, %r9, %r9;\n\t// end inline asm",
        "\t{ .reg .b16 t; mov.b32 {%r9, t}, %r3; }",
        "\t{ // callseq 0, 0\n\tcall.uni (%r9), f;\n\t} // callseq 0",
    ],
)
def test_what_ends_the_way_down(between):
    lines = [*ROW, *between.split("\n"), "\tadd.f32 \t%r5, %r1, %r2;"]
    assert spread(*lines) == lines


@pytest.mark.parametrize(
    "lines",
    [
        [ROW[0], "\tadd.s32 \t%r6, %r6, 1;", "\tst.global.b32 \t[%rd1], %r1;"],  # one alone holds nothing back
        [
            "\tdiv.full.f32 \t%r1, %r8, %r9;",
            "\tdiv.full.f32 \t%r2, %r7, %r9;",
            "\tadd.f32 \t%r5, %r1, %r2;",
        ],  # no branch
        [*ROW, "\tadd.s32 \t%r6, %r6, 1;"],  # not used here
    ],
)
def test_what_is_left_alone(lines):
    assert spread(*lines) == lines
