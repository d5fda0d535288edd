"""Which operations a pipelined loop may begin iterations ahead.

Such an operation runs for iterations that never come, too: Triton's pipeliner masks it there. It knows how to mask
loads, stores, atomic additions and their like, and branches by their condition; an operation without effects needs no
mask. Everything else belongs to the last stage, which no iteration runs ahead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle_raw.flir.loop_body import BodyOperation
from tle_raw.linker.mlir.generic_operation import generic_name
from tle_raw.linker.mlir.text import OPERATION
from tle_raw.regions.ports import CALL, DESCRIPTOR, ELEMENT, IN, NEW, OUT

LOADS = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather")
_MASKED = (*LOADS, "tt.store", "tt.atomic_rmw")
BRANCH = "scf.if"
_PURE_DIALECTS = ("arith.", "math.", "ub.")
_PURE = frozenset(
    (
        "tt.addptr",
        "tt.bitcast",
        "tt.broadcast",
        "tt.cat",
        "tt.clampf",
        "tt.dot",
        "tt.dot_scaled",
        "tt.elementwise_inline_asm",
        "tt.expand_dims",
        "tt.extern_elementwise",
        "tt.fp_to_fp",
        "tt.gather",
        "tt.get_num_programs",
        "tt.get_program_id",
        "tt.histogram",
        "tt.int_to_ptr",
        "tt.join",
        "tt.make_range",
        "tt.map_elementwise",
        "tt.mulhiui",
        "tt.precise_divf",
        "tt.precise_sqrt",
        "tt.ptr_to_int",
        "tt.reduce",
        "tt.reshape",
        "tt.scan",
        "tt.splat",
        "tt.split",
        "tt.trans",
        "tt.unsplat",
        "ttg.memdesc_index",
        "tt.reduce.return",
        "tt.scan.return",
        "tt.map_elementwise.return",
        "scf.yield",
    )
)
# Whose text says whether they are pure.
_SAY = (OPERATION, "tt.elementwise_inline_asm", "tt.map_elementwise")
# Of a store into a buffer that has a slot for each iteration: it is the region's own, and falls away.
AHEAD = "tle.ahead"
_PORTS = (IN, NEW, CALL, OUT, ELEMENT, DESCRIPTOR)
_IMPURE = re.compile(r"\bpure = false\b")


def has_effects(operation: BodyOperation, lines: Sequence[str]) -> bool:
    """Whether it does more than give a value; a load does not."""
    return any(not _is_pure(line) and generic_name(line) not in LOADS for line in _operations(operation, lines))


def may_run_ahead(operation: BodyOperation, lines: Sequence[str]) -> bool:
    """Whether the pipeliner can mask it."""
    if operation.name != BRANCH:
        return all(_is_pure(line) or generic_name(line) in _MASKED for line in _operations(operation, lines))
    # What is masked takes the other branch: that must have no effects and read no memory.
    then, other = _branches(operation, lines)
    names = {generic_name(line) for line in then if not _is_pure(line)}
    return names <= {*_MASKED, BRANCH} and all(map(_is_pure, other))


def is_region(operation: BodyOperation, lines: Sequence[str]) -> bool:
    """Whether it is of a region that is linked: it runs ahead in a branch, with all that belongs to it."""
    line = lines[operation.begin]
    if operation.name == OPERATION:
        return any(f'symbol = "{port}' in line for port in _PORTS)
    return operation.name == "ttg.local_store" and AHEAD in line


def _operations(operation: BodyOperation, lines: Sequence[str]) -> list[str]:
    return [line for line in lines[operation.begin : operation.end + 1] if generic_name(line)]


def _branches(operation: BodyOperation, lines: Sequence[str]) -> tuple[list[str], list[str]]:
    indent = re.match(r"\s*", lines[operation.begin])
    border = f"{indent[0] if indent else ''}}}, {{"
    inside = lines[operation.begin + 1 : operation.end]
    cut = next((i for i, line in enumerate(inside) if line.startswith(border)), len(inside))
    return [x for x in inside[:cut] if generic_name(x)], [x for x in inside[cut:] if generic_name(x)]


def _is_pure(line: str) -> bool:
    name = generic_name(line)
    if name in _SAY:
        return _IMPURE.search(line) is None
    return name in _PURE or name.startswith(_PURE_DIALECTS)
