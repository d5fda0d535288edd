"""Descriptors of warpgroup products as two words."""

import pytest

from tle_raw.linker.ptx.pair_words import pair_words

pytestmark = pytest.mark.one_triton

PRODUCT = "\twgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {}, %rd2, %rd3, p, 1, 1, 0, 0;"
WIDEN = "\tcvt.u64.u32 \t%rd1, %r1;"


def rewritten(*lines: str) -> list[str]:
    return pair_words("\n".join([*lines, PRODUCT])).split("\n")[:-1]


def test_an_address_and_a_constant_high_word():
    (found,) = rewritten(WIDEN, f"\tor.b64 \t%rd2, %rd1, {0x40000040 << 32};")
    assert found == "\t{ .reg .b32 low, high; mov.b32 high, 1073741888; mov.b64 %rd2, {%r1, high}; }"


def test_bits_in_the_low_word():
    (found,) = rewritten(WIDEN, f"\tor.b64 \t%rd2, %rd1, {0x40000040 << 32 | 0x10000};")
    assert "or.b32 low, %r1, 65536; " in found and "mov.b64 %rd2, {low, high};" in found


def test_a_number_whose_highest_bit_is_set_is_printed_as_negative():
    (found,) = rewritten(WIDEN, f"\tor.b64 \t%rd2, %rd1, {(0x80000001 << 32) - (1 << 64)};")
    assert f"mov.b32 high, {0x80000001};" in found


def test_debug_lines_stay():
    place, label = "\t.loc\t1 2 3", "$L__tmp7:"
    found = rewritten(WIDEN, label, place, f"\tor.b64 \t%rd2, %rd1, {1 << 40};")
    assert found[:2] == [label, place] and "mov.b64 %rd2" in found[2] and len(found) == 3


@pytest.mark.parametrize(
    "lines",
    [
        (WIDEN, f"\tor.b64 \t%rd2, %rd1, {1 << 40};", "\tadd.s64 \t%rd4, %rd1, 8;"),  # the widened one is read again
        (WIDEN, "\tor.b64 \t%rd2, %rd1, 65536;"),  # no high word
        (WIDEN, "\tor.b64 \t%rd2, %rd1, %rd5;"),
        (WIDEN, "\tadd.s32 \t%r1, %r1, 2;", f"\tor.b64 \t%rd2, %rd1, {1 << 40};"),
        ("\tcvt.s64.s32 \t%rd1, %r1;", f"\tor.b64 \t%rd2, %rd1, {1 << 40};"),
    ],
)
def test_what_stays(lines):
    assert rewritten(*lines) == list(lines)


def test_more_than_registers_would_hold_stay():
    pairs = [f"\tcvt.u64.u32 \t%rd{i}, %r1;\n\tor.b64 \t%rd{i + 1}, %rd{i}, {1 << 40};" for i in range(1, 71, 2)]
    assert "mov.b64" in "\n".join(rewritten(*pairs[:32])) and "mov.b64" not in "\n".join(rewritten(*pairs))


def test_text_without_such_products_is_left_alone():
    text = f"{WIDEN}\n\tor.b64 \t%rd2, %rd1, {1 << 40};"
    assert pair_words(text) == text
