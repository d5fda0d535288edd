"""Block tensors that come out of a loop's executor change their layout behind the partitions, and not before their end.

A change of layout goes through shared memory: within the partition it would lie beside the slots of the loop, which are
gone behind it. Of a product of 128 x 256 it takes 128 KB.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle_raw.flir.nvidia.partitions import SPECIALIZE
from tle_raw.linker.mlir.generic_operation import GenericOperation, read_generic
from tle_raw.linker.mlir.generic_tree import Operation, Value, read_operations
from tle_raw.linker.mlir.text import location_of

OWN_LAYOUT = "tle.own_layout"  # a note on what ends a default partition
_CONVERT, _YIELD = "ttg.convert_layout", "ttg.warp_yield"


def convert_results(text: str) -> tuple[str, int]:
    """TritonGPU text in generic form, and how many changes of layout were moved."""
    lines = text.splitlines()
    if not any(OWN_LAYOUT in line for line in lines):
        return text, 0
    operations = read_operations(lines)
    users: dict[Value, int] = {}
    for each in operations:
        for value in each.operands:
            users[value] = users.get(value, 0) + 1
    found = 0
    for each in reversed(operations):  # lines in front of it keep their numbers
        if each.name == _YIELD and OWN_LAYOUT in each.details and each.above is not None:
            found += _moved(lines, each, each.above, users)
    return "\n".join(line for line in lines if line is not _GONE), found


_GONE = "// moved"


def _moved(lines: list[str], yields: Operation, around: Operation, users: dict[Value, int]) -> int:
    assert around.name == SPECIALIZE
    tail = read_generic(lines[yields.line])
    operands, types = list(tail.operands), list(tail.types)
    behind: list[str] = []
    location = location_of(lines[around.end])
    for number, value in enumerate(yields.operands):
        made = value.definition
        if made is None or made.name != _CONVERT or users[value] > 1:
            continue
        convert = read_generic(lines[made.line])
        operands[number], types[number] = convert.operands[0], convert.types[0]
        lines[made.line] = _GONE
        result, new = around.results[number].name, f"%tle_own_{around.line}_{number}"
        behind.append(
            str(GenericOperation(_CONVERT, (result,), convert.types, convert.result_types, new, location=location))
        )
        old = re.compile(re.escape(result) + r"(?![\w$.\-#:])")
        end = around.parent.operations[-1].end + 1
        for place in range(around.end + 1, end):
            lines[place] = old.sub(new, lines[place])
    if behind:
        lines[yields.line] = str(
            GenericOperation(_YIELD, tuple(operands), tuple(types), indent=tail.indent, location=tail.location)
        )
        lines[around.end] = _with_results(lines[around.end], types)
        lines[around.end] = "\n".join([lines[around.end], *behind])
    return len(behind)


def _with_results(line: str, types: Sequence[str]) -> str:
    """The line that ends an operation with regions, with other types of its results."""
    location = location_of(line)
    head, _, _ = line[: len(line) - len(location)].rpartition(") -> ")
    return f"{head}) -> {types[0] if len(types) == 1 else '(' + ', '.join(types) + ')'}{location}"
