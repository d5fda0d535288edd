"""Reading single operations of MLIR text."""

import pytest

from tle_raw.errors import RegionError
from tle_raw.flir.nvidia.replace_ports import shared_type
from tle_raw.linker.mlir import text as mlir_text
from tle_raw.linker.mlir.structure import lines_in_loops
from tle_raw.linker.mlir.text import block_ids, find_lines, operation_name, read_operation, unescape, value_uses

pytestmark = pytest.mark.one_triton

LINE = (
    '      %r = tt.extern_elementwise %a, %b_1 {libname = "{\\22k\\22: [1, 2]} \\\\ %x", libpath = "", pure = false, '
    'symbol = "tle.call"} : (tensor<16x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #blocked}>>, i32) -> f32 loc(#loc4)'
)


def test_an_operation_is_taken_apart_by_its_grammar():
    operation = read_operation(LINE)
    assert operation.indent == "      "
    assert operation.result == "%r"
    assert operation.operands == ("%a", "%b_1")
    assert operation.attribute("libname") == '{"k": [1, 2]} \\ %x'
    assert operation.types == ("tensor<16x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #blocked}>>", "i32")
    assert operation.result_type == "f32"
    assert operation.location == " loc(#loc4)"


PLAIN = (
    '    %y_3 = tt.extern_elementwise %x#1, %p {libname = "{\\22a, b\\22}", libpath = "", pure = true, symbol = "s"} : '
    "(tensor<8x4xf32, #blocked>, !tt.ptr<f32>) -> tensor<8x4xf32, #blocked> loc(#loc4)"
)


@pytest.mark.parametrize(
    "line", [PLAIN, PLAIN.partition(" loc(")[0], PLAIN.replace(", !tt.ptr<f32>", "").replace(", %p", "")]
)
def test_the_usual_form_is_read_at_once_and_as_every_other(line):
    assert mlir_text._read_plain(line) == mlir_text._read_any(line)


@pytest.mark.parametrize(
    "line",
    [
        LINE,
        PLAIN.replace("%x#1, ", ""),
        PLAIN.replace("true", "[true]"),
        PLAIN.replace("(tensor", "(!llvm.struct<(i32)>, tensor"),
    ],
    ids=["brackets in types", "fewer operands than types", "another attribute", "a type with parentheses"],
)
def test_another_form_is_left_to_the_grammar(line):
    assert mlir_text._read_plain(line) is None


def test_text_beyond_ascii_survives_mlirs_escapes():
    line = (
        '%r = tt.extern_elementwise %a {libname = "\\C3\\A9", libpath = "", pure = true, symbol = "s"} : (f32) -> f32'
    )
    assert read_operation(line).attribute("libname") == "é"


@pytest.mark.parametrize(
    ("quoted", "text"),
    [
        (r'""', ""),
        (r'"a\22b\22"', 'a"b"'),
        (r'"\222"', '"2'),
        (r'"\\22"', r"\22"),
        (r'"\\\22"', '\\"'),
        (r'"\5C22"', r"\22"),
        (r'"\5c\22"', '\\"'),
        (r'"\22\0A\t\n"', '"\n\t\n'),
        (r'"\22\C3\A9é"', '"éé'),
        (r'"a\"b"', 'a"b'),
        (r'"\2"', r"\2"),
    ],
)
def test_escapes_are_read_from_the_left(quoted, text):
    assert unescape(quoted) == text


@pytest.mark.parametrize("text", ["", '"', 'a"', '"a', r'"\C3"'])
def test_what_is_no_string_is_refused(text):
    with pytest.raises(ValueError):
        unescape(text)


@pytest.mark.parametrize(
    "line",
    [
        "%r = tt.extern_elementwise %a {libname = } : f32 -> f32",
        '%r = tt.extern_elementwise %a, %b {symbol = "x"} : (f32) -> f32',
        '%r = tt.extern_elementwise %a {symbol = "x} : (f32) -> f32',
        "%r = tt.other %a",
    ],
)
def test_an_unknown_form_is_refused_by_name(line):
    with pytest.raises(RegionError, match="in a form that this release"):
        read_operation(line)


def test_uses_are_counted_outside_of_strings():
    lines = ['%a = op "%a %a" %b', "%c:2 = op %a, %c#1, %aa"]
    assert value_uses(lines, "%a") == 2
    assert value_uses(lines, "%c") == 2


def test_the_branches_of_an_if_are_different_blocks():
    lines = ["f {", "  a {x = 1}", "  scf.if %c {", "    b", "  } else {", "    c", "  }", "  d", "}"]
    ids = block_ids(lines)
    assert ids[1] == ids[7]
    assert len({ids[1], ids[3], ids[5]}) == 3


def test_the_lines_of_loops_are_known():
    lines = [
        "f {",
        "  %r = scf.for %i = %a {",
        "    scf.if %c {",
        "    }",
        "  }",
        "  b",
        '  "scf.while"() ({',
        "  })",
        "}",
    ]
    assert lines_in_loops(lines) == {2, 3, 4, 7}
    assert lines_in_loops(["f {", "  a", "}"]) == set()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("  %0 = arith.addi %a, %b : i32", "arith.addi"),
        ('    %1:2 = "tt.reduce"(%x) <{axis = 0 : i32}> ({', "tt.reduce"),
        ("gpu.barrier", "gpu.barrier"),
        ("^bb1(%x: i32):", ""),
        ("}", ""),
    ],
)
def test_a_line_names_its_operation(line, name):
    assert operation_name(line) == name


def test_a_label_starts_a_block():
    ids = block_ids(["f {", "^bb0(%a: i32):", "  x", "^bb1:", "  y", "}"])
    assert ids[2] != ids[4]


@pytest.mark.parametrize(
    ("tensor", "order"),
    [
        ("tensor<64xf32, #b>", "[0]"),
        ("tensor<2x4x8x16xf8E4M3FN, #ttg.slice<{dim = 0, parent = #b}>>", "[3, 2, 1, 0]"),
    ],
)
def test_a_tile_lies_in_shared_memory_row_major_and_unswizzled(tensor, order):
    memory = shared_type(tensor)
    assert f"order = {order}" in memory
    assert "vec = 1, perPhase = 1, maxPhase = 1" in memory


def test_lines_are_found_by_words_each_once_and_in_order():
    text = "a b\n\nc a a\nb\nnone\nb"
    assert find_lines(text, "b", "a") == [0, 2, 3, 5]
    assert find_lines(text, "missing") == find_lines("", "a") == find_lines(text) == []
