"""Where a kernel of clusters has to meet its neighbours although it does not say so: before it reaches them first, and
before it leaves.

A block's shared memory is there when the block has begun, and its barriers when it has initialised them; it is gone
when the block leaves. A barrier of the cluster that the kernel has itself in such a place will do, and in the last one
its word that none is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tle_raw.flir.nvidia.shared_pointers import ACCESSES, SharedPointers
from tle_raw.linker.mlir.generic_tree import Operation
from tle_raw.linker.mlir.text import OPERATION
from tle_raw.regions.clusters import ARRIVE, COPY, LEAVE, MEET, MULTICAST, SIGNAL, WAIT

_REACH = tuple(f'symbol = "{symbol}"' for symbol in (SIGNAL, COPY, MULTICAST, MEET))
_ARRIVES, _WAITS, _LEAVES = (f'symbol = "{symbol}"' for symbol in (ARRIVE, WAIT, LEAVE))
INIT, _RETURN = "ttng.init_barrier", "tt.return"


def missing_barriers(pointers: SharedPointers) -> list[int]:
    """The lines before which all blocks of the cluster have to meet."""
    functions = [each for each in pointers.walk() if each.name == "tt.func" and each.regions]
    return [line for function in functions for line in _missing(function, pointers)]


def reaches_others(operation: Operation, pointers: SharedPointers) -> bool:
    """Whether an operation, or one inside of it, does anything to another block's shared memory."""
    return any(_reaches(each, pointers) for each in operation.walk())


def _reaches(operation: Operation, pointers: SharedPointers) -> bool:
    if operation.name in ACCESSES:
        return operation.operands[0] in pointers.remote
    return operation.name == OPERATION and any(symbol in operation.details for symbol in _REACH)


def _missing(function: Operation, pointers: SharedPointers) -> Iterator[int]:
    blocks = function.regions[0]
    operations = [each for block in blocks for each in block.operations]
    reaching = [place for place, each in enumerate(operations) if reaches_others(each, pointers)]
    if not reaching:
        return
    is_straight = len(blocks) == 1
    if not (is_straight and _is_met_before(operations, reaching[0])):
        yield operations[reaching[0]].line
    if not (is_straight and _is_met_behind(operations, reaching[-1])):
        yield from (each.line for each in operations if each.name == _RETURN)


def _is_met_before(operations: Sequence[Operation], first: int) -> bool:
    """Whether the cluster meets before this place, and barriers are initialised before that."""
    inits = [place for place in range(first) if any(each.name == INIT for each in operations[place].walk())]
    return _meets(operations[max(inits, default=-1) + 1 : first])


def _is_met_behind(operations: Sequence[Operation], last: int) -> bool:
    behind = operations[last + 1 :]
    return _meets(behind) or any(each.name == OPERATION and _LEAVES in each.details for each in behind)


def _meets(operations: Sequence[Operation]) -> bool:
    """Whether these operations arrive at the cluster's barrier, and wait behind that."""
    arrived = False
    for operation in operations:
        if operation.name == OPERATION:
            arrived = arrived or _ARRIVES in operation.details
            if arrived and _WAITS in operation.details:
                return True
    return False
