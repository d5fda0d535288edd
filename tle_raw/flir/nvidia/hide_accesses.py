"""Stores and atomics by pointers into buffers keep the layout of what they are given.

Triton gives each access to global memory a layout in which neighbours in memory lie side by side, and moves values and
pointers into it through shared memory. Where the addresses are scattered that gains nothing, and shared memory does not
ask for it. So such a store, and an atomic operation whose result nobody uses, is a ``tt.extern_elementwise`` while
Triton's passes run, which takes the layout that comes; ``show_accesses`` makes the operation again of it::

    "tt.atomic_rmw"(%p, %x, %m) <{atomic_rmw_op = 4 : i32, ...}> : (tensor<64x!tt.ptr<i32>>, ...) -> tensor<64xi32>

    %u = "tt.extern_elementwise"(%p, %x, %m) <{libname = record, symbol = "tle_access", ...}> : (...) -> tensor<64xi32>

Triton may repeat such a function where it wants a result in another layout, and an atomic operation must not be
repeated. ``show_accesses`` finds that, and the stage runs once more with those whose results are used as they are. They
are told instead that their addresses are neighbours, which they are not: Triton 3.6 then gives them the layout of what
they are computed from; later ones know that no instruction joins such operations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from tle_raw.flir.nvidia.open_crossings import is_tensor, with_element
from tle_raw.flir.nvidia.shared_pointers import LOADS, STORES, SharedPointers
from tle_raw.linker.mlir.generic_operation import GenericOperation, read_generic
from tle_raw.linker.mlir.generic_tree import Operation
from tle_raw.linker.mlir.text import OPERATION, block_ids, find_lines, quoted, unescape

ACCESS = "tle_access"  # without a point: it is no port of a region
_MARKED = f'symbol = "{ACCESS}"'
# A hidden access as nearly all are printed: reading its parts by their brackets takes ten times as long.
_PLAIN = re.compile(
    rf'( *)(%[^=]* = )"{re.escape(OPERATION)}"\(([^)]*)\) <\{{libname = ("[^"]*"), libpath = "", pure = false, '
    rf"{_MARKED}\}}> : \(([^()]*)\) -> ([^()]*?)( loc\(.*)?"
)
LIE = "tle.neighbours"
_OF_STORES: dict[str, Any] = {"results": "", "result_types": ()}
_FAR = 16  # more elements than a thread gets in a row
COPIED = ("tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.int_to_ptr", "tt.bitcast")


class RepeatedAccessError(Exception):
    """An atomic operation whose result is used stands in a block twice."""


def hide_accesses(lines: list[str], pointers: SharedPointers, *, used_too: bool) -> list[str]:
    """Lines of Triton IR in generic form; the accesses are read from these lines.

    Parameters
    ----------
    used_too : hide atomic operations whose results are used.
    """
    hidden: dict[int, list[str]] = {}
    for number, access in enumerate(pointers.accesses()):
        if access.name in LOADS:
            continue
        operation = read_generic(lines[access.line])
        if not is_tensor(operation.types[0]):
            continue
        is_used = any(result.uses for result in access.results)
        if is_used and not used_too:
            hidden[access.line] = as_neighbours(operation, access, number, lines)
        else:
            hidden[access.line] = [hidden_access(operation, number, once=is_used)]
    return [made for number, line in enumerate(lines) for made in hidden.get(number, [line])]


def hidden_access(operation: GenericOperation, number: int, *, once: bool) -> str:
    """The function in an access's place; ``once`` if it must not be repeated."""
    record = json.dumps([operation.name, operation.properties, operation.attributes, number if once else -1])
    made = operation._replace(
        name=OPERATION,
        properties=f'libname = {quoted(record)}, libpath = "", pure = false, symbol = "{ACCESS}"',
        attributes="",
        results=operation.results or f"%tle_access_{number}",
        result_types=operation.result_types or (with_element(operation.types[0], "i32"),),
    )
    return str(made)


def as_neighbours(operation: GenericOperation, access: Operation, number: int, lines: Sequence[str]) -> list[str]:
    """The pointers' own definition once more, with what is not true of them."""
    made = access.operands[0].definition
    if made is None or made.name not in COPIED:
        return [lines[access.line]]
    name, rank = f"%tle_near_{number}", with_element(operation.types[0], "i32").count("x")
    hint = f"dense<{_FAR}> : tensor<{rank}xi32>"
    near = read_generic(lines[made.line])._replace(
        results=name,
        attributes=f'{LIE} = "", tt.contiguity = {hint}, tt.divisibility = {hint}',
    )
    return [str(near), str(operation._replace(operands=(name, *operation.operands[1:])))]


def show_accesses(text: str) -> list[str]:
    """The lines of TritonGPU text in generic form with the accesses themselves.

    Raises
    ------
    RepeatedAccessError : one was hidden that should not have been.
    """
    lines = text.splitlines()
    once: list[tuple[int, int]] = []  # numbers of accesses that must not be repeated, and their lines
    for at in find_lines(text, LIE, _MARKED):
        if LIE in lines[at]:
            lines[at] = _far_apart(lines[at])
        elif _MARKED in lines[at]:
            lines[at], number = _shown(lines[at])
            if number >= 0:
                once.append((number, at))
    if len({number for number, _ in once}) < len(once):
        blocks = block_ids(lines)
        if len({(number, blocks[at]) for number, at in once}) < len(once):
            raise RepeatedAccessError
    return lines


def _far_apart(line: str) -> str:
    return str(read_generic(line).without_attribute(LIE, "tt.contiguity", "tt.divisibility"))


def _shown(line: str) -> tuple[str, int]:
    if plain := _PLAIN.fullmatch(line):
        indent, results, operands, record, types, gives, location = plain.groups()
        name, properties, attributes, number = json.loads(unescape(record))
        held = f" <{{{properties}}}>" if properties else ""
        held += f" {{{attributes}}}" if attributes else ""
        left, right = ("", "()") if name in STORES else (results, gives)
        return f'{indent}{left}"{name}"({operands}){held} : ({types}) -> {right}{location or ""}', number
    operation = read_generic(line)
    name, properties, attributes, number = json.loads(unescape(operation.property("libname")))
    given = {"name": name, "properties": properties, "attributes": attributes}
    return str(operation._replace(**given, **(_OF_STORES if name in STORES else {}))), number
