"""Zeros are said as zeros up to the first line that could change them, and nothing else is touched."""

import pytest

from tle_raw.linker.ptx.zero_accumulators import zero_accumulators

pytestmark = pytest.mark.one_triton

PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r2, %r3, %r1, %r9}, %rd1, %rd2, p, 1, 1, 0, 0;"


def after(*lines):
    """The moves as they are after the zero in ``%r1``."""
    text = "\n".join(["\tmov.b32 \t%r1, 0;", *lines, PRODUCT])
    return zero_accumulators(text).split("\n")[1:-1]


def test_copies_become_zeros_behind_debug_lines_and_empty_assembly():
    found = after(
        "\tmov.b32 \t%r2, %r1;", "\t// begin inline asm", "$L__tmp3:", "\t.loc 1 2 3", "\tmov.b32 \t%r3, %r2;"
    )
    assert found[0] == "\tmov.b32 \t%r2, 0;" and found[-1] == "\tmov.b32 \t%r3, 0;"


def test_float_zeros():
    text = f"\tmov.b32 \t%r5, 0f00000000;\n\tmov.b32 \t%r2, %r5;\n{PRODUCT}"
    assert zero_accumulators(text).split("\n")[1] == "\tmov.b32 \t%r2, 0;"


@pytest.mark.parametrize(
    "line",
    [
        "$L__BB0_3:",  # another way leads here
        "\tadd.s32 \t%r1, %r1, 1;",
        "@%p1 mov.s32 %r1, 1;",
        "\tmov.b32 \t%r1, %r7;",
        "\tmov.b32 \t%r1, 5;",
        "\tld.shared.v2.b32 \t{%r4, %r1}, [%r6];",
        PRODUCT,
    ],
)
def test_what_may_change_the_register_ends_it(line):
    assert after(line, "\tmov.b32 \t%r2, %r1;")[-1] == "\tmov.b32 \t%r2, %r1;"


def test_text_without_products_stays():
    text = "\tmov.b32 \t%r1, 0;\n\tmov.b32 \t%r2, %r1;"
    assert zero_accumulators(text) == text
