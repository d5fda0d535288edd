"""Behind Triton's passes: what held tensors in the layouts that the kernel says becomes conversions.

``close_crossings`` writes such a tensor as a conversion, a reshape that may order elements as it likes, which Triton's
passes take a layout from, and a marker. The passes make use of the freedom: the conversion goes, and the reshape takes
its operand in another layout, as if elements could change places. And they give a reshape that a reduction uses a
layout which suits the reduction; the marker stands in between. Here both become conversions, which move elements where
their layouts differ, so that each keeps its place, and are nothing where they are equal.
"""

from __future__ import annotations

from dataclasses import replace

from tle_raw.flir.nvidia.blocked_layout import read_tensor
from tle_raw.linker.mlir.generic_operation import GenericOperation, generic_name, read_generic
from tle_raw.regions.ports import KEPT

_KEPT = f'symbol = "{KEPT}"'
_CONVERT = "ttg.convert_layout"


def release_layouts(text: str) -> tuple[str, int]:
    """TritonGPU text in generic form, and how many tensors were held."""
    lines, found = text.splitlines(), 0
    for number, line in enumerate(lines):
        if _KEPT in line:
            lines[number], found = _released(read_generic(line)), found + 1
        elif "allow_reorder" in line and generic_name(line) == "tt.reshape" and _is_same(held := read_generic(line)):
            lines[number] = _released(held)
    return "\n".join(lines), found


def _released(operation: GenericOperation) -> str:
    return str(replace(operation, name=_CONVERT, properties="", attributes=""))


def _is_same(held: GenericOperation) -> bool:
    """Whether both tensors have the same dims and elements."""
    return read_tensor(held.types[0]) == read_tensor(held.result_types[0])
