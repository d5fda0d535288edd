"""From Triton 3.7 on: a load by a descriptor and a store into a buffer become one copy of the copy engine (TMA).

There the operation of such a copy is verified with the layout of the descriptor, which Triton IR does not have. The
kernel's IR holds what means the same: a noted ``tt.descriptor_load``, ``ttg.local_store`` of its value, and an arrival
that never is one (its predicate is never true), which names the barrier. Here they are joined, and the descriptor's
type gets the buffer's layout.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tle_raw.errors import LayoutError, RegionError, Row
from tle_raw.flir.nvidia.buffer_types import PREFIX, layout_aliases
from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.linker.mlir.generic_operation import GenericOperation, generic_name, read_generic
from tle_raw.linker.mlir.text import find_lines, split_top_level

LOAD, STORE, ARRIVE, CONVERT = "tt.descriptor_load", "ttg.local_store", "ttng.arrive_barrier", "ttg.convert_layout"
COPY = "ttng.async_tma_copy_global_to_local"
_NOTED = 'tle.note = "tma"'
_INSIDE = re.compile(r"!tt\.tensordesc<(?P<tensor>tensor<)?(?P<inner>[^<>]*)>")
_LAID_OUT = re.compile(r"!tt\.tensordesc<(?:tensor<)?(?:\d+x)+\w+, (?P<layout>#\w+(?:\.\w+<\{.*\}>)?)>{1,2}")


@dataclass
class _Copy:
    """A load that was found, and the store of its value."""

    load: GenericOperation
    store: GenericOperation | None = None


def join_tma_copies(text: str) -> tuple[str, int]:
    """TritonGPU text in generic form, and how many copies were joined."""
    if _NOTED not in text:
        return text, 0
    types: dict[str, str] = {}
    joined = _joined(text, types)
    for plain, laid_out in types.items():
        joined = joined.replace(plain, laid_out)
    return joined, len(types)


def _joined(text: str, types: dict[str, str]) -> str:
    loads: dict[str, _Copy] = {}
    waiting: _Copy | None = None
    lines = text.splitlines()
    aliases, edits = layout_aliases(lines), LineEdits(lines)
    for number in find_lines(text, *(f'"{name}"' for name in (LOAD, CONVERT, STORE, ARRIVE))):
        line, made = lines[number], list[str]()
        name = generic_name(line)
        if name == LOAD and _NOTED in line:
            load = read_generic(line)
            loads[load.results] = _Copy(load)
        elif name == CONVERT and (convert := read_generic(line)).operands[0] in loads:
            loads[convert.results] = loads[convert.operands[0]]
        elif name == STORE and (store := read_generic(line)).operands[0] in loads and waiting is None:
            waiting = loads[store.operands[0]]
            waiting.store = store
        elif name == ARRIVE and waiting is not None:
            made = _copy(waiting, read_generic(line), number, types, aliases)
            waiting = None
        else:
            continue
        edits.replace(number, made)
    if waiting is not None or any(copy.store is None for copy in loads.values()):
        raise RegionError(
            "a copy by a tensor descriptor was separated from its barrier by one of Triton's passes",
            log=str(next(iter(loads.values())).load).strip()[:300],
            hint="report this with the kernel",
        )
    return edits.text()


def _copy(
    copy: _Copy, arrive: GenericOperation, number: int, types: dict[str, str], aliases: dict[str, str]
) -> list[str]:
    load, store = copy.load, copy.store
    assert store is not None
    descriptor, buffer, barrier = load.types[0], store.types[1], arrive.types[0]
    laid_out(descriptor, buffer, types, aliases)
    places, true = load.operands[1:], f"%tle_true_{number}"
    always = GenericOperation("arith.constant", (), (), ("i1",), true, "value = true")
    made = GenericOperation(
        COPY,
        (load.operands[0], *places, arrive.operands[0], store.operands[1], true),
        (descriptor, *load.types[1:], barrier, buffer, "i1"),
        properties=f"operandSegmentSizes = array<i32: 1, {len(places)}, 0, 1, 1, 1>",
    )
    return [str(each._replace(indent=load.indent, location=load.location)) for each in (always, made)]


def laid_out(descriptor: str, buffer: str, types: dict[str, str], aliases: dict[str, str]) -> None:
    """Enter into ``types`` a descriptor's type with the layout of a buffer that it is copied into, or from.

    Partitions may have ``aliases`` of their own for one layout.

    Raises
    ------
    LayoutError : the type is there with another layout.
    """
    layout = split_top_level(buffer.removeprefix(PREFIX)[:-1])[1].strip()
    layout = aliases.get(layout, layout)
    if found := _LAID_OUT.fullmatch(descriptor):  # by copies of an earlier pass
        there = found["layout"]
        if aliases.get(there, there) != layout:
            raise _two_layouts(there, layout)
        return
    wanted = _INSIDE.sub(rf"!tt.tensordesc<\g<tensor>\g<inner>, {layout}>", descriptor)
    if not _INSIDE.search(descriptor)["tensor"]:  # type: ignore[index]
        wanted = descriptor[:-1] + f", {layout}>"
    if types.setdefault(descriptor, wanted) != wanted:
        raise _two_layouts(types[descriptor], wanted)


def _two_layouts(expected: str, got: str) -> LayoutError:
    return LayoutError(
        "two copies by descriptors of one type go into buffers of different layouts",
        table=[Row("layout", expected, got)],
        hint="give the buffers one layout: tle.gpu.alloc's own",
    )
