"""Block barriers of kernels whose copies and products run in the background, in place of those that Triton would add.

``copy_order`` says where they stand, and before which operations Triton's own are not wanted. Triton puts its barriers
in while it lowers the kernel, right before an operation. So such an operation stands between two marks, comments of
inline assembly, and ``linker/llvm/unwanted_barriers.py`` removes them from the LLVM IR, with the barrier between the
first mark and what the operation became.

Of four barriers of each step of the product that ``samples/benchmarks/struct_speed.py`` measures one is left.
``TLE_RAW_DISABLE_PASSES=order-copies`` compiles without it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.flir.nvidia.barrier_walk import AFTER, BEFORE
from tle_raw.flir.nvidia.buffer_types import layout_aliases
from tle_raw.flir.nvidia.copy_order import PRODUCTS_DONE, decide_copies
from tle_raw.flir.nvidia.insertions import BARRIER, FENCE, Insertion
from tle_raw.flir.nvidia.shared_pointers import read_pointers
from tle_raw.linker.llvm.unwanted_barriers import CLOSE, OPEN, OPEN_WIDE
from tle_raw.linker.mlir.generic_tree import Operation

# Kernels without these have no mbarriers, and nothing is gained.
_ASKED = ("ttng.wait_barrier", "ttng.barrier_expect")


def holds_mbarriers(text: str) -> bool:
    """Whether TritonGPU text waits for mbarriers or tells them of bytes to come."""
    return any(name in text for name in _ASKED)


def order_copies(lines: Sequence[str], operations: list[Operation]) -> tuple[list[Insertion], int]:
    """The barriers and marks of TritonGPU text in generic form, and how many operations are marked.

    ``operations`` are all that ``lines`` hold.
    """
    decision = decide_copies(read_pointers(lines, operations), layout_aliases(lines))
    barriers = sorted(decision.barriers)
    made = []
    for line, side in barriers:
        if (line, side) in decision.fenced:
            made.append(Insertion(line, BEFORE, FENCE))
        if side == BEFORE:
            made.append(Insertion(line, BEFORE, BARRIER))
    for operation in decision.left_out:
        opened = OPEN_WIDE if operation.name == PRODUCTS_DONE else OPEN
        made.append(Insertion(operation.line, BEFORE, opened))
        made.append(Insertion(operation.end, AFTER, CLOSE))
    # outside of marks
    made += [Insertion(line, AFTER, BARRIER) for line, side in barriers if side == AFTER]
    return made, len(decision.left_out)
