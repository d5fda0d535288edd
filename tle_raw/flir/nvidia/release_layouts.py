"""Behind Triton's passes: what held tensors in the layouts that the kernel says becomes conversions.

``close_crossings`` writes such a tensor as a conversion, a reshape that may order elements as it likes, which Triton's
passes take a layout from, and a marker. The passes make use of the freedom: the conversion goes, and the reshape takes
its operand in another layout, as if elements could change places. And they give a reshape that a reduction uses a
layout which suits the reduction; the marker stands in between. Here both become conversions, which move elements where
their layouts differ, so that each keeps its place, and are nothing where they are equal.

A buffer's content that is wanted in such a layout alone is loaded in it, an operand of ``wgmma`` by ``ldmatrix``. The
passes do not see that it might be, for a marker stands in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.flir.nvidia.blocked_layout import read_tensor
from tle_raw.linker.mlir.generic_operation import GenericOperation, generic_name, read_generic
from tle_raw.linker.mlir.generic_tree import Operation, Value, read_operations
from tle_raw.regions.ports import KEPT

_KEPT = f'symbol = "{KEPT}"'
_CONVERT, _LOAD = "ttg.convert_layout", "ttg.local_load"


def release_layouts(text: str) -> tuple[str, int]:
    """TritonGPU text in generic form, and how many tensors were held."""
    lines, found = text.splitlines(), 0
    for number, line in enumerate(lines):
        if _KEPT in line:
            lines[number], found = _released(read_generic(line)), found + 1
        elif "allow_reorder" in line and generic_name(line) == "tt.reshape" and _is_same(held := read_generic(line)):
            lines[number] = _released(held)
    for load, *conversions in _loads(lines) if found else ():
        last = read_generic(lines[conversions[-1].line])
        made = read_generic(lines[load.line])._replace(results=last.results, result_types=last.result_types)
        lines[load.line] = str(made)
        for conversion in conversions:
            lines[conversion.line] = ""
    return "\n".join(lines), found


def _loads(lines: list[str]) -> Iterator[list[Operation]]:
    """Each load of a buffer with the conversions that alone take what it gives, one behind the other."""
    operations = read_operations(lines)
    uses: dict[Value, list[Operation]] = {}
    for each in operations:
        for value in each.operands:
            uses.setdefault(value, []).append(each)
    for load in (each for each in operations if each.name == _LOAD):
        chain = [load]
        while len(users := uses.get(chain[-1].results[0], [])) == 1 and users[0].name == _CONVERT:
            chain.append(users[0])
        between = load.parent.operations
        between = between[between.index(load) : between.index(chain[-1])] if chain[-1].parent is load.parent else []
        if between and not any(each.regions for each in between):  # whose values might have the name that the load gets
            yield chain


def _released(operation: GenericOperation) -> str:
    return str(operation._replace(name=_CONVERT, properties="", attributes=""))


def _is_same(held: GenericOperation) -> bool:
    """Whether both tensors have the same dims and elements."""
    return read_tensor(held.types[0]) == read_tensor(held.result_types[0])
