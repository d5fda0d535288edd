"""Barriers, fences and marks that a pass puts beside operations: into a module's text, or into the module itself.

They have no operands, so that a module takes them where it is, and need not be printed, edited and read again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from triton._C.libtriton import gluon_ir

from tle_raw.errors import RegionError
from tle_raw.flir.nvidia.barrier_walk import AFTER, BEFORE
from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.flir.nvidia.replace_ports import Spelling
from tle_raw.linker.mlir.generic_tree import Operation

BARRIER, FENCE = "barrier", "fence"
FENCE_TEXT = '"ttng.fence_async_shared"() <{bCluster = false}> : () -> ()'
_CONSTRAINTS = "=r"


class Insertion(NamedTuple):
    """What is put before the operation that begins at a line, or after the one that ends there.

    ``what`` is BARRIER, FENCE, or else the comment of a mark, which stays in the LLVM IR as inline assembly.
    """

    line: int
    side: str
    what: str


def insert_in_text(
    lines: Sequence[str], operations: Sequence[Operation], insertions: Sequence[Insertion], spelling: Spelling
) -> str:
    """A module's text in generic form with the insertions; those at one place stand in their order."""
    edits, ends = LineEdits(lines), {each.line: each.end for each in operations}
    known = {BARRIER: spelling.barrier, FENCE: FENCE_TEXT}
    for number, each in enumerate(insertions):
        made = known.get(each.what) or _mark(f"%tle_mark_{number}", each.what)
        edits.insert(each.line, each.side, made, ends.get(each.line) if each.side == BEFORE else None)
    return edits.text()


def _mark(name: str, comment: str) -> str:
    properties = (
        f'<{{asm_string = "{comment}", constraints = "{_CONSTRAINTS}", packed_element = 1 : i32, pure = false}}>'
    )
    return f'{name} = "tt.elementwise_inline_asm"() {properties} : () -> i32'


def insert_in_place(module: Any, operations: Sequence[Operation], insertions: Sequence[Insertion]) -> None:
    """The same in a module of libtriton's, whose operations were read from its text."""
    if not insertions:
        return
    handles = _Handles(module, operations)
    builder = gluon_ir.GluonOpBuilder(module.context)
    # What stands after an operation comes before what stands before the next one, and is put there later.
    for side in (BEFORE, AFTER):
        for place, several in _by_place(insertions, side).items():
            handles.go(builder, place, side)
            for each in several:
                _create(builder, each.what)


def _by_place(insertions: Sequence[Insertion], side: str) -> Mapping[int, Sequence[Insertion]]:
    found: defaultdict[int, list[Insertion]] = defaultdict(list)
    for each in insertions:
        if each.side == side:
            found[each.line].append(each)
    return found


def _create(builder: Any, what: str) -> None:
    if what == BARRIER:
        builder.create_barrier()
    elif what == FENCE:
        builder.create_fence_async_shared(False)
    else:
        builder.create_inline_asm(what, _CONSTRAINTS, [], [builder.get_int32_ty()], False, 1)


class _Handles:
    """A module's operations by the lines of its text."""

    def __init__(self, module: Any, operations: Sequence[Operation]) -> None:
        handles: list[Any] = []
        module.walk(handles.append)
        inside_out = [each for top in operations if top.above is None for each in _inside_out(top)]
        if len(handles) != len(inside_out):
            raise RegionError(
                "a module does not hold the operations of its text", hint="report this with the Triton version"
            )
        self.handles = dict(zip(inside_out, handles))
        self.begins = {each.line: each for each in operations}
        self.ends = {each.end: each for each in operations}

    def go(self, builder: Any, line: int, side: str) -> None:
        """Place a builder before or after an operation, whose location its next ones get."""
        operation = (self.begins if side == BEFORE else self.ends)[line]
        handle = self.handles[operation]
        builder.set_insertion_point_after(handle)
        if side == AFTER:
            return
        location = builder.get_loc()
        siblings = operation.parent.operations
        if siblings[0] is operation:
            builder.set_insertion_point_to_start(handle.get_block())
        else:
            builder.set_insertion_point_after(self.handles[siblings[siblings.index(operation) - 1]])
        builder.set_loc(location)


def _inside_out(operation: Operation) -> Iterator[Operation]:
    """The operations inside of one before itself, as libtriton goes through a module."""
    for region in operation.regions:
        for block in region:
            for each in block.operations:
                if each.regions:
                    yield from _inside_out(each)
                else:
                    yield each
    yield operation
