"""Stores and atomics by pointers into buffers keep the layout of what they are given.

Triton gives each access to global memory a layout in which neighbours in memory lie side by side, and moves values and
pointers into it through shared memory. Where the addresses are scattered that gains nothing, and shared memory does not
ask for it. So such a store, and an atomic operation whose result nobody uses, is a ``tt.extern_elementwise`` while
Triton's passes run, which takes the layout that comes; ``show_accesses`` makes the operation again of it::

    "tt.atomic_rmw"(%p, %x, %m) <{atomic_rmw_op = 4 : i32, ...}> : (tensor<64x!tt.ptr<i32>>, ...) -> tensor<64xi32>

    %u = "tt.extern_elementwise"(%p, %x, %m) <{libname = record, symbol = "tle_access", ...}> : (...) -> tensor<64xi32>

One whose result is used stays what it is: Triton 3.6 repeats such functions where it wants a result in another layout.
It is told instead that the addresses are neighbours, which they are not: it then takes the layout of what they are
computed from. ``show_accesses`` takes that back before anything is made of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tle_raw.flir.nvidia.open_crossings import is_tensor, quoted, with_element
from tle_raw.flir.nvidia.shared_pointers import LOADS, STORES, SharedPointers
from tle_raw.linker.mlir.generic_operation import GenericOperation, read_generic
from tle_raw.linker.mlir.text import OPERATION, unescape

ACCESS = "tle_access"  # without a point: it is no port of a region
_MARKED = f'symbol = "{ACCESS}"'
_LIE = "tle.neighbours"


def hide_accesses(lines: list[str], pointers: SharedPointers) -> list[str]:
    """Lines of Triton IR in generic form; the accesses are read from these lines."""
    used = {operand for each in pointers.walk() for operand in each.operands}
    hidden: dict[int, list[str]] = {}
    for number, access in enumerate(pointers.accesses()):
        operation = read_generic(lines[access.line])
        if access.name in LOADS or not is_tensor(operation.types[0]):
            continue
        is_used = any(result in used for result in access.results)
        make = _as_neighbours if is_used else _hidden
        hidden[access.line] = make(operation, number)
    return [made for number, line in enumerate(lines) for made in hidden.get(number, [line])]


def _hidden(operation: GenericOperation, number: int) -> list[str]:
    record = json.dumps([operation.name, operation.properties, operation.attributes])
    made = replace(
        operation,
        name=OPERATION,
        properties=f'libname = {quoted(record)}, libpath = "", pure = false, symbol = "{ACCESS}"',
        attributes="",
        results=operation.results or f"%tle_access_{number}",
        result_types=operation.result_types or (with_element(operation.types[0], "i32"),),
    )
    return [str(made)]


def _as_neighbours(operation: GenericOperation, number: int) -> list[str]:
    pointers, name = operation.types[0], f"%tle_near_{number}"
    offsets = with_element(pointers, "i32")
    rank = offsets.count("x")
    hint = f"dense<16> : tensor<{rank}xi32>"
    zero = GenericOperation(
        "arith.constant", (), (), (offsets,), f"{name}_z", f"value = dense<0> : {offsets}",
        indent=operation.indent, location=operation.location,
    )  # fmt: skip
    near = GenericOperation(
        "tt.addptr", (operation.operands[0], f"{name}_z"), (pointers, offsets), (pointers,), name,
        attributes=f"{_LIE}, tt.contiguity = {hint}, tt.divisibility = {hint}",
        indent=operation.indent, location=operation.location,
    )  # fmt: skip
    return [str(zero), str(near), str(replace(operation, operands=(name, *operation.operands[1:])))]


def show_accesses(text: str) -> str:
    """TritonGPU text in generic form with the accesses themselves."""
    return "\n".join(_shown(text.splitlines()))


def _shown(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if _LIE in line:
            near = read_generic(line)
            for note in (_LIE, "tt.contiguity", "tt.divisibility"):
                near = near.without_attribute(note)
            yield str(near)
        elif _MARKED in line:
            operation = read_generic(line)
            name, properties, attributes = json.loads(unescape(operation.property("libname")))
            shown = replace(operation, name=name, properties=properties, attributes=attributes)
            yield str(replace(shown, results="", result_types=()) if name in STORES else shown)
        else:
            yield line
