"""Behind Triton's passes: what held tensors in the layouts that the kernel says becomes conversions.

``close_crossings`` writes such a tensor as a conversion, a reshape that may order elements as it likes, which Triton's
passes take a layout from, and a marker. The passes make use of the freedom: the conversion goes, and the reshape takes
its operand in another layout, as if elements could change places. And they give a reshape that a reduction uses a
layout which suits the reduction; the marker stands in between. Here both become conversions, which move elements where
their layouts differ, so that each keeps its place, and are nothing where they are equal.
"""

from __future__ import annotations

import re

from tle_raw.linker.mlir.text import operation_name, read_operation
from tle_raw.regions.ports import KEPT

_KEPT = f'symbol = "{KEPT}"'
_HELD = re.compile(
    r"^(?P<head>\s*%[\w$.\-#]+ = )tt\.reshape (?P<value>%[\w$.\-#]+) allow_reorder(?: efficient_layout)? "
    r"(?:\{[^{}]*\} )?(?P<types>: .*)$"
)
_TENSORS = re.compile(r": tensor<((?:\d+x)*[^,<>]+(?:<[^<>]*>)?), .*? -> tensor<((?:\d+x)*[^,<>]+(?:<[^<>]*>)?), ")


def release_layouts(text: str) -> tuple[str, int]:
    """TritonGPU text as Triton prints it, and how many tensors were held."""
    lines, found = text.splitlines(), 0
    for number, line in enumerate(lines):
        if _KEPT in line:
            lines[number], found = _released(line), found + 1
        elif operation_name(line) == "tt.reshape" and (held := _HELD.match(line)) and _is_same(held["types"]):
            lines[number] = f"{held['head']}ttg.convert_layout {held['value']} {held['types']}"
    return "\n".join(lines), found


def _released(line: str) -> str:
    marker = read_operation(line)
    return (
        f"{marker.indent}{marker.result} = ttg.convert_layout {marker.operands[0]} : "
        f"{marker.types[0]} -> {marker.result_type}{marker.location}"
    )


def _is_same(types: str) -> bool:
    """Whether both tensors have the same dims and elements."""
    match = _TENSORS.match(types)
    return match is not None and match[1] == match[2]
