"""Which operations on tensors are known to take no shared memory."""

import pytest

from tle_raw.flir.nvidia.within_warps import is_within_warps, keeps_rows
from tle_raw.linker.mlir.generic_tree import read_tree

ALIASES = {
    "#mma": "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>",
    "#old": "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>",
    "#wide": "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 2], instrShape = [16, 64, 16]}>",
    "#narrow": "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>",
    "#eight": "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>",
    "#blocked": "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [1, 4], order = [1, 0]}>",
}
REDUCE = """  "tt.reduce"(%x) <{{axis = {axis} : i32}}> ({{
  ^bb0(%a: f32, %b: f32):
    %c = "arith.addf"(%a, %b) : (f32, f32) -> f32
    "tt.reduce.return"(%c) : (f32) -> ()
  }}) : (tensor<64x128xf32, {layout}>) -> tensor<64xf32, #ttg.slice<{{dim = {axis}, parent = {layout}}}>>"""
OPERAND = "#ttg.dot_op<{{opIdx = {index}, parent = {parent}, kWidth = {width}}}>"


def operation(text):
    module = ['"builtin.module"() ({', *text.splitlines(), "}) : () -> ()"]
    (top,) = read_tree(module)
    return top.regions[0][0].operations[0]


@pytest.mark.parametrize(
    "layout, axis, expected",
    [
        *(("#mma", 1, True), ("#mma", 0, False), ("#wide", 1, False), ("#blocked", 0, True), ("#blocked", 1, False)),
        (OPERAND.format(index=0, parent="#mma", width=2), 1, True),
        (OPERAND.format(index=0, parent="#mma", width=2), 0, False),
        (OPERAND.format(index=0, parent="#wide", width=2), 1, False),
        (OPERAND.format(index=1, parent="#mma", width=2), 1, False),
    ],
)
@pytest.mark.every_triton(3)
def test_reductions_over_the_threads_of_a_warp(layout, axis, expected):
    reduce = operation(REDUCE.format(axis=axis, layout=layout))
    reduce.operands[0].type = f"tensor<64x128xf32, {layout}>"
    assert is_within_warps(reduce, ALIASES) == expected


@pytest.mark.parametrize(
    "given, index, parent, element, width, expected",
    [
        ("#mma", 0, "#mma", "f16", 2, True),
        ("#mma", 0, "#mma", "f8E4M3FN", 4, False),
        ("#mma", 0, "#mma", "f16", 4, False),
        ("#mma", 1, "#mma", "f16", 2, False),
        ("#mma", 0, "#wide", "f16", 2, False),
        ("#old", 0, "#old", "f16", 2, False),
        ("#blocked", 0, "#blocked", "f16", 2, False),
    ],
)
def test_the_result_of_a_product_that_is_the_operand_of_another(given, index, parent, element, width, expected):
    types = (
        f"tensor<64x128x{element}, {given}>",
        (f"tensor<64x128x{element}, {OPERAND.format(index=index, parent=parent, width=width)}>"),
    )
    convert = operation(f'  %y = "ttg.convert_layout"(%x) : ({types[0]}) -> {types[1]}')
    convert.operands[0].type, convert.results[0].type = types
    assert is_within_warps(convert, ALIASES) == expected


SLICE = "#ttg.slice<{{dim = {dim}, parent = {parent}}}>"


@pytest.mark.parametrize(
    "before, after, expected",
    [
        *(("#mma", "#narrow", True), ("#mma", "#wide", False), ("#wide", "#mma", False), ("#mma", "#eight", False)),
        *(("#mma", "#blocked", False), ("#blocked", "#blocked", False), ("#old", "#old", False)),
        (SLICE.format(dim=1, parent="#mma"), SLICE.format(dim=1, parent="#narrow"), True),
        (SLICE.format(dim=1, parent="#mma"), SLICE.format(dim=0, parent="#narrow"), False),
        (SLICE.format(dim=1, parent="#mma"), SLICE.format(dim=1, parent="#wide"), False),
        ("#mma", OPERAND.format(index=0, parent="#narrow", width=2), True),
        ("#mma", OPERAND.format(index=0, parent="#narrow", width=4), False),
        ("#mma", OPERAND.format(index=1, parent="#narrow", width=2), False),
        ("#mma", OPERAND.format(index=0, parent="#eight", width=2), False),
        ("#wide", OPERAND.format(index=0, parent="#narrow", width=2), False),
    ],
)
@pytest.mark.every_triton(4)
def test_the_result_of_a_product_where_that_of_a_wider_one_lies(before, after, expected):
    types = [f"tensor<64x128xf16, {layout}>" for layout in (before, after)]
    convert = operation(f'  %y = "ttg.convert_layout"(%x) : ({types[0]}) -> {types[1]}')
    convert.operands[0].type, convert.results[0].type = types
    assert keeps_rows(convert, ALIASES) == expected


def test_others_are_not_known():
    assert not is_within_warps(operation('  %y = "tt.scan"(%x) : (f32) -> f32'), ALIASES)
