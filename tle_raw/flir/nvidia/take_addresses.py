"""The numbers that ``tle.gpu.local_ptr`` asks of a buffer: its address, where a noted load stands for it.

In Triton IR no operation of Triton's tells where a buffer lies, that its builder could make. So the kernel loads a
noted word from the buffer, and here that becomes the address::

    %w = "ttg.memdesc_reinterpret"(%buffer) : (!ttg.memdesc<64xf32, ...>) -> !ttg.memdesc<1xi32, ...>
    %l = "ttg.local_load"(%w) {tle.told = "address"} : (!ttg.memdesc<1xi32, ...>) -> tensor<1xi32>
    %n = "tt.extern_elementwise"(%l) <{symbol = "tle_told", ...}> : (tensor<1xi32>) -> tensor<1xi64>
    %a = "tt.unsplat"(%n) : (tensor<1xi64>) -> i64

    %a = "tti.experimental_memdesc_to_i64"(%buffer) : (!ttg.memdesc<64xf32, ...>) -> i64

The buffer itself is asked, not the word: the view would have lost at which row or column a part of one begins.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from tle_raw.flir.early_loads import EARLY
from tle_raw.flir.keep_loads import TOLD, number_loads
from tle_raw.flir.nvidia.hide_accesses import hide_accesses
from tle_raw.flir.nvidia.leave_loops import with_one_stage
from tle_raw.flir.nvidia.load_in_place import load_in_place
from tle_raw.flir.nvidia.order_in_front import order_in_front
from tle_raw.flir.nvidia.replace_ports import Spelling
from tle_raw.flir.nvidia.shared_pointers import LOADS, SharedPointers, read_pointers
from tle_raw.linker.mlir.generic_operation import GenericOperation, ends, generic_name, read_generic
from tle_raw.linker.mlir.generic_tree import Operation
from tle_raw.linker.mlir.text import OPERATION, find_lines

_NUMBER = 'symbol = "tle_told"'
_LOAD, _VIEW, _TAKE = "ttg.local_load", "ttg.memdesc_reinterpret", "tt.unsplat"
_SLOT, _ELEMENT = "ttg.memdesc_index", "tt.gather"


def asks_addresses(text: str) -> bool:
    """Whether a kernel holds pointers to elements of buffers."""
    return TOLD in text


class Taken(NamedTuple):
    """Triton IR in generic form with the addresses, how many there are, and the accesses if they are in order."""

    text: str
    found: int
    ordered: int | None


def take_addresses(text: str, spelling: Spelling, capability: int, *, hide_used: bool, in_front: bool) -> Taken:
    """Put the addresses into Triton IR in generic form.

    Parameters
    ----------
    capability : the GPU's, which says what products read in place (``load_in_place``).
    hide_used : see ``hide_accesses``.
    in_front : order the accesses here, where ``order_in_front`` can.

    Raises
    ------
    SharedBufferError : a pointer may be one into shared memory and one into global memory.
    """
    views: dict[str, GenericOperation] = {}
    words: dict[str, GenericOperation] = {}
    given = text.splitlines()
    lines: list[str] = []
    found = end = 0
    for at in find_lines(text, TOLD, _NUMBER, _VIEW, _TAKE):
        lines += given[end:at]
        line, end = given[at], at + 1
        name = generic_name(line)
        if name == _VIEW or (name == _SLOT and TOLD in line):  # by both on Triton 3.8
            view = read_generic(line)
            views[view.results] = view if name == _VIEW else views.get(view.operands[0], view)
        elif name == _LOAD and TOLD in line:
            result, buffer = ends(line)
            words[result] = views.get(buffer) or read_generic(line)  # a buffer of one word is no view
            continue
        elif (name == _ELEMENT and TOLD in line) or (name == OPERATION and _NUMBER in line):
            result, word = ends(line)  # the element of a part, on Triton 3.8; or the number
            words[result] = words[word]
            continue
        elif name == _TAKE and (word := ends(line)[1]) in words:
            found += 1
            lines += _address(read_generic(line), words[word], found, spelling)
            continue
        lines.append(line)
    lines = number_loads(lines + given[end:])
    pointers = read_pointers(lines)
    of_buffers = load_in_place(lines, pointers, capability)
    _keep_in_order(lines, pointers, of_buffers)
    ordered = order_in_front(lines, pointers, spelling, capability, used_too=hide_used) if in_front else None
    if ordered is not None:
        return Taken(ordered.text, found, ordered.accesses)
    return Taken("\n".join(hide_accesses(lines, pointers, used_too=hide_used)), found, None)


def _address(taken: GenericOperation, view: GenericOperation, number: int, spelling: Spelling) -> list[str]:
    if spelling.address_type == "i64":
        return [str(taken._replace(name=spelling.address, operands=view.operands, types=view.types))]
    narrow = f"%tle_told_{number}"
    address = taken._replace(
        name=spelling.address,
        operands=view.operands,
        types=view.types,
        results=narrow,
        result_types=(spelling.address_type,),
    )
    wide = taken._replace(name="arith.extui", operands=(narrow,), types=(spelling.address_type,))
    return [str(address), str(wide)]


def _keep_in_order(lines: list[str], pointers: SharedPointers, of_buffers: Container[Operation]) -> None:
    """Triton's software pipeliner runs loads ahead, with all that they need, and takes these for loads like others.

    It would make asynchronous copies of them. So a loop that holds one, or an atomic operation whose result is used,
    has one stage. A load is volatile, and nothing moves it over what writes.
    """
    for access in list(pointers.accesses()):
        if access.name in LOADS and access not in of_buffers:
            line = lines[access.line]
            load = str(read_generic(line).without_attribute(EARLY)) if EARLY in line else line
            lines[access.line] = load.replace("isVolatile = false", "isVolatile = true", 1)
        if not any(result.uses for result in access.results):
            continue
        for above in access.ancestors():
            if above.name == "scf.for":
                lines[above.end] = with_one_stage(lines[above.end])
