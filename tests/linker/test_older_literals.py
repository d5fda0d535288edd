"""Floating-point literals of newer LLVM mean the same to an older parser."""

import math
import struct

import pytest

from tle_raw.errors import LinkError
from tle_raw.linker.llvm.older_literals import FORMATS, older_literals

pytestmark = pytest.mark.one_triton


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("fadd float %x, 1.000000e-01", "fadd float %x, 0x3FB99999A0000000"),
        ("fadd float %x, f0x3FB8AA3B", "fadd float %x, 0x3FF7154760000000"),
        ("fcmp olt float %x, +inf", "fcmp olt float %x, 0x7FF0000000000000"),
        (
            "select i1 %c, float -nan(0x1), float -inf",
            "select i1 %c, float 0xFFF8000020000000, float 0xFFF0000000000000",
        ),
        ("ret double +qnan", "ret double 0x7FF8000000000000"),
        ("ret float +snan(0x1)", "ret float 0x7FF0000020000000"),
        ("fmul half %h, 9.997550e-02", "fmul half %h, 0xH2E66"),
        ("fmul bfloat %b, 1.000980e-01", "fmul bfloat %b, 0xR3DCD"),
        ("fmul half %h, f0x3C00", "fmul half %h, 0xH3C00"),
        ("<4 x float> splat (float 0.5)", "<4 x float> splat (float 0x3FE0000000000000)"),
        ("fpext float 0.5 to double", "fpext float 0x3FE0000000000000 to double"),
        ("call void @f(i32 1, double -2.0)", "call void @f(i32 1, double 0xC000000000000000)"),
    ],
)
def test_a_literal_gets_the_type_that_stands_before_it(newer, older):
    assert older_literals(newer) == older


@pytest.mark.parametrize(
    "text",
    [
        '@s = constant [12 x i8] c"float 1.5 %f"',
        "%float.1 = add i32 %double.2, 1",
        '@"float 1.5" = global i32 0',
        "; float 1.5 in a comment",
        "call void @llvm.f.1.5(i32 3)",
        '!0 = !{i32 2, !"double 1.5"}',
        "ret float 0x3FB99999A0000000",
    ],
)
def test_what_only_looks_like_a_literal_stays(text):
    assert older_literals(text) == text


def test_a_type_of_no_cpu_here_is_an_error():
    with pytest.raises(LinkError, match="fp128"):
        older_literals("ret fp128 1.5")


@pytest.mark.parametrize(
    ("name", "letter", "bits", "size"), [("half", "e", "H", 16), ("float", "f", "I", 32), ("double", "d", "Q", 64)]
)
def test_decimals_round_as_they_do_everywhere(name, letter, bits, size):
    largest = {"half": 65504.0, "float": 3.4e38, "double": 1.7e308}[name]
    smallest = {"half": 6e-8, "float": 1.4e-45, "double": 5e-324}[name]
    for value in (0.0, 1.0, 0.1, 1 / 3, 2.0**-10, 1e-5, 6.1e-5, 65500.0, largest, smallest, math.pi):
        (expected,) = struct.unpack(f"<{bits}", struct.pack(f"<{letter}", value))
        assert FORMATS[name].bits(f"{value!r}" if "." in repr(value) else f"{value:.20e}") == expected
        assert FORMATS[name].bits(f"-{value:.30e}") == expected | 1 << size - 1


def test_beyond_the_largest_is_infinity():
    assert FORMATS["float"].bits("1.0e39") == 0x7F800000
    assert FORMATS["half"].bits("65520.0") == 0x7C00
