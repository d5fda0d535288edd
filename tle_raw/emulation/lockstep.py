"""Lanes of a warp go on together from one volatile access to the next.

CUDA's older reductions end in a warp that exchanges its sums through volatile memory, and have no other order than
that of a GPU's branches: lanes that part come together again behind the branch. So each volatile access, and each way
back in a loop that holds one, is a place where a lane waits until no other lane of its warp can run; then those at the
earliest place go on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tle_raw.emulation.control_flow import program_order, read_blocks
from tle_raw.linker.llvm.sites import Sites
from tle_raw.linker.llvm.text import Edit, Entity, Module, tokenize
from tle_raw.linker.llvm.types import Cursor

_ACCESS = re.compile(r"^[ \t]+(?:%\S+ = )?(?P<kind>load|store) volatile [^\n]*$", re.MULTILINE)
_CALL = re.compile(r"^[ \t]+(?:%\S+ = )?call [^\n@]*@(?P<name>[\w.]+)\([^\n]*$", re.MULTILINE)


@dataclass(frozen=True)
class _Place:
    """Where lanes meet: before an access, or before a loop's way back."""

    position: int
    awaited: str = "null"  # the pointer that is accessed
    space: str = "ptr"
    is_store: bool = False
    location: str = ""


def meet_at_volatile_accesses(module: Module, entry: str, volatile: set[str], sites: Sites) -> Module:
    """The module with ``tle_team_meet`` where lanes of a warp meet.

    ``volatile`` are the functions that stand for inline PTX with a volatile access.
    """
    edits: list[Edit] = []
    # What is called comes before what calls it: lanes in a function are earlier than those that have left it.
    for entity in sorted(module.of_kind("define"), key=lambda e: e.name == entry):
        for place in _places(module, entity, volatile):
            edits.append(Edit(place.position, place.position, _call(place, len(edits), sites)))
    return module.edited(edits)


def _places(module: Module, entity: Entity, volatile: set[str]) -> Iterator[_Place]:
    """The places of a function in its program's order."""
    accesses = sorted(_accesses(module.text, entity, volatile), key=lambda place: place.position)
    if not accesses:
        return
    blocks = read_blocks(module, entity)
    order = program_order({name: block.successors for name, block in blocks.items()}, "")
    holding = {name: [a for a in accesses if block.start <= a.position < block.end] for name, block in blocks.items()}
    ways_back = {
        name for inside, back in order.loops if any(holding[name] for name in inside) for name in back
    }  # fmt: skip
    for name in order.names:
        yield from holding[name]
        if name in ways_back:
            yield _Place(blocks[name].branch)


def _accesses(text: str, entity: Entity, volatile: set[str]) -> Iterator[_Place]:
    for match in _ACCESS.finditer(text, entity.body, entity.end):
        space, pointer = _pointer(match[0], match["kind"])
        yield _Place(match.start(), pointer, space, match["kind"] == "store", _location(match[0]))
    for match in _CALL.finditer(text, entity.body, entity.end) if volatile else ():
        if match["name"] in volatile:
            yield _Place(match.start(), location=_location(match[0]))


def _location(line: str) -> str:
    found = re.search(r"!dbg (!\d+)", line)
    return found[1] if found else ""


def _pointer(line: str, kind: str) -> tuple[str, str]:
    """The type and the value of an access's pointer."""
    cursor = Cursor(line, list(tokenize(line)))
    while not cursor.sees(kind):
        cursor.take()
    cursor.take()
    cursor.take("volatile")
    cursor.read_type()
    while not cursor.sees(","):
        cursor.skip_group()
    cursor.take(",")
    space, first = str(cursor.read_type()), cursor.tokens[cursor.index]
    while not cursor.sees(",") and cursor.current is not None:
        cursor.skip_group()
    return space, line[first.start : cursor.tokens[cursor.index - 1].end]


def _call(place: _Place, order: int, sites: Sites) -> str:
    site, awaited, cast = sites.number(place.location), place.awaited, ""
    if place.space != "ptr":
        awaited = f"%tle.awaited.{order}"
        cast = f"  {awaited} = addrspacecast {place.space} {place.awaited} to ptr\n"
    return f"{cast}  call void @tle_team_meet(i32 {order}, ptr {awaited}, i32 {int(place.is_store)}, i32 {site})\n"
