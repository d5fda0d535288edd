"""Operations on tensors that Triton does within a warp: they take no shared memory, though others of their name do."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tle_raw.flir.nvidia.blocked_layout import layout_of, read_tensor
from tle_raw.flir.nvidia.buffer_types import element_bits
from tle_raw.linker.mlir.generic_tree import Operation

_WARPS = re.compile(r"warpsPerCTA = \[([\d, ]+)\]")
_AXIS = re.compile(r"\baxis = (\d+) : i32")
_OPERAND = re.compile(r"#ttg\.dot_op<\{opIdx = 0, parent = (?P<parent>#[\w$.]+), kWidth = (?P<width>\d+)\}>")
_LEFT = re.compile(r"#ttg\.dot_op<\{opIdx = 0, parent = (?P<parent>#[\w$.]+)")
_COLUMNS = re.compile(r"instrShape = \[16, \d+, (?=\d+\])")
_PARENT = re.compile(r"parent = (#[\w$.]+)")
_HOPPER = "versionMajor = 3"
_HALVES = 2, 16  # elements in a row, and their bits
_ENDS = ("tt.reduce.return",)


def is_within_warps(operation: Operation, aliases: Mapping[str, str]) -> bool:
    """Whether an operation is known to be one of these: a reduction along an axis over which no warps are spread, or
    the result of a product on sm_90 on its way to be the left operand of another.

    Parameters
    ----------
    aliases : the layouts that the module's text begins with, by their names.
    """
    if operation.name in _ENDS:
        return True
    if not operation.operands or not operation.operands[0].type.startswith("tensor<"):
        return False
    given = operation.operands[0].type
    if operation.name == "tt.reduce":
        layout = _layout(given, aliases)
        if left := _LEFT.match(layout):  # whose rows are spread over warps as those of the product are
            layout = aliases.get(left["parent"], "")
        axis, warps = _AXIS.search(operation.details), _WARPS.search(layout)
        # of a slice the axes are not those of its parent, where the warps are counted
        is_plain = "#ttg.slice" not in layout
        if axis is None or warps is None or not is_plain:
            return False
        return warps[1].split(",")[int(axis[1])].strip() == "1"
    if operation.name == "ttg.convert_layout":
        operand = _OPERAND.match(_layout(operation.results[0].type, aliases))
        if operand is None or (int(operand["width"]), element_bits(read_tensor(given)[1])) != _HALVES:
            return False
        return operand["parent"] == layout_of(given) and _HOPPER in _layout(given, aliases)
    return False


def keeps_rows(operation: Operation, aliases: Mapping[str, str]) -> bool:
    """Whether a conversion brings the result of a product on sm_90 to where the result of a wider or a narrower one
    lies, or on its way to be the left operand of that one.

    Where rows alone are spread over warps each thread has the same elements of a row. Attention of tiles of 128 rows by
    64 keys, 128 wide, has such between its two products.
    """
    if operation.name != "ttg.convert_layout" or not operation.operands[0].type.startswith("tensor<"):
        return False
    given = operation.operands[0].type
    before, after = (_layout(tensor, aliases) for tensor in (given, operation.results[0].type))
    operand = _OPERAND.match(after)
    if operand is None:
        return _is_of_same_rows(
            *(_PARENT.sub(lambda m: f"parent = {aliases.get(m[1], m[1])}", one) for one in (before, after))
        )
    halves = (int(operand["width"]), element_bits(read_tensor(given)[1])) == _HALVES
    return halves and _is_of_same_rows(before, aliases.get(operand["parent"], ""))


def _is_of_same_rows(one: str, other: str) -> bool:
    """Whether two layouts of results differ in an instruction's columns alone, and spread rows alone over warps."""
    warps = _WARPS.search(one)
    if warps is None or _HOPPER not in one or not warps[1].replace(" ", "").endswith(",1"):
        return False
    return _COLUMNS.sub("", one) == _COLUMNS.sub("", other)


def _layout(tensor: str, aliases: Mapping[str, str]) -> str:
    layout = layout_of(tensor)
    return aliases.get(layout, layout)
