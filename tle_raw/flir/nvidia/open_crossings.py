"""Before the conversion to TritonGPU: operations on shared buffers that touch tensors become markers.

Triton's conversion gives every tensor a layout, but knows no operation of its own ``ttg`` and ``ttng`` dialects that
has a tensor as operand or result: it expects none before. Such an operation becomes a ``tt.extern_elementwise``, which
the conversion knows, and ``close_crossings`` makes the operation again of it, on the layouts that were chosen::

    "ttg.local_store"(%x, %buffer) : (tensor<64xf32>, !ttg.memdesc<...>) -> ()

    %a = "tti.experimental_memdesc_to_i32"(%buffer) : (!ttg.memdesc<...>) -> i32
    %s = "tt.splat"(%a) : (i32) -> tensor<64xi32>
    %m = "tt.extern_elementwise"(%x, %s) <{libname = record, symbol = "tle.crossing", ...}> : (...) -> tensor<64xi32>

What is no tensor rides along as a splat. The marker is tied to it by SSA values alone, so that loops, branches and
function calls need no care. Operations without tensors (barriers, TMA, views, waits) go through as they are.
"""

from __future__ import annotations

import json
import re

from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.flir.nvidia.replace_ports import Spelling
from tle_raw.linker.mlir.generic_operation import GenericOperation, generic_name, read_generic
from tle_raw.linker.mlir.text import OPERATION, find_lines, quoted
from tle_raw.regions.ports import LAYOUT

CROSSING = "tle.crossing"
DIALECTS = ("ttg.", "ttng.")
YIELD = "ttg.warp_yield"  # of a partition: crosses by itself, see `partition_results`
_HELD = re.compile(r'^\s*(?:%[^=]*= )?"?(?:ttg|ttng)\.\w', re.MULTILINE)
_DIMS = re.compile(r"tensor<((?:\d+x)*)")
# How what is no tensor rides along.
TENSOR, BUFFER, SCALAR = "t", "b", "s"


def holds_buffers(text: str) -> bool:
    """Whether Triton IR holds operations of TritonGPU's, or layouts: none that Triton's own language writes does."""
    if f'symbol = "{LAYOUT}"' in text:
        return True
    return ("ttg." in text or "ttng." in text) and _HELD.search(text) is not None


def open_crossings(text: str, spelling: Spelling) -> str:
    """Triton IR in generic form with markers in place of the operations that cannot be converted."""
    lines = text.splitlines()
    edits = LineEdits(lines)
    for number in find_lines(text, *(f'"{dialect}' for dialect in DIALECTS)):
        line = lines[number]
        name = generic_name(line) if "tensor<" in line and "({" not in line else ""
        if name.startswith(DIALECTS) and name != YIELD:
            operation = read_generic(line)
            if any(map(is_tensor, (*operation.types, *operation.result_types))):
                edits.replace(number, _marked(operation, number, spelling))
    return edits.text()


def is_tensor(type_: str) -> bool:
    """Whether a type's text is a tensor's."""
    return type_.startswith("tensor<")


def with_element(tensor: str, element: str) -> str:
    """A tensor type of the same dims, without a layout."""
    match = _DIMS.match(tensor)
    return f"tensor<{match[1] if match else ''}{element}>"


def _marked(operation: GenericOperation, number: int, spelling: Spelling) -> list[str]:
    tensor = next(t for t in (*operation.types, *operation.result_types) if is_tensor(t))
    lines, operands, types, kinds = [], [], [], ""
    for index, (operand, type_) in enumerate(zip(operation.operands, operation.types)):
        if is_tensor(type_):
            operands.append(operand)
            types.append(type_)
            kinds += TENSOR
            continue
        name = f"%tle_{number}_{index}"
        is_buffer = type_.startswith("!")
        if is_buffer:
            lines.append(_line(operation, f"{name}_a", spelling.address, operand, type_, spelling.address_type))
            operand, type_ = f"{name}_a", spelling.address_type
        splat = with_element(tensor, type_)
        lines.append(_line(operation, name, "tt.splat", operand, type_, splat))
        operands.append(name)
        types.append(splat)
        kinds += BUFFER if is_buffer else SCALAR
    gives = operation.result_types[0] if operation.result_types else ""
    record = json.dumps([operation.name, kinds, operation.properties, operation.attributes, gives])
    marker = GenericOperation(
        OPERATION,
        tuple(operands),
        tuple(types),
        (gives if is_tensor(gives) else with_element(tensor, "i32"),),
        operation.results or f"%tle_{number}",
        f'libname = {quoted(record)}, libpath = "", pure = false, symbol = "{CROSSING}"',
        indent=operation.indent,
        location=operation.location,
    )
    return [*lines, str(marker)]


def _line(near: GenericOperation, result: str, name: str, operand: str, type_: str, gives: str) -> str:
    made = GenericOperation(name, (operand,), (type_,), (gives,), result, indent=near.indent, location=near.location)
    return str(made)
