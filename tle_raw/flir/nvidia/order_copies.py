"""Block barriers of kernels whose copies and products run in the background, in place of those that Triton would add.

``copy_order`` says where they stand, and before which operations Triton's own are not wanted. Triton puts its barriers
in while it lowers the kernel, right before an operation. So such an operation stands between two marks, comments of
inline assembly, and ``linker/llvm/unwanted_barriers.py`` removes them from the LLVM IR, with the barrier between the
first mark and what the operation became.

Of four barriers of each step of the product that ``samples/benchmarks/struct_speed.py`` measures one is left.
``TLE_RAW_DISABLE_PASSES=order-copies`` compiles without it.
"""

from __future__ import annotations

from tle_raw.flir.nvidia.barrier_walk import AFTER, BEFORE
from tle_raw.flir.nvidia.buffer_types import layout_aliases
from tle_raw.flir.nvidia.copy_order import PRODUCTS_DONE, decide_copies
from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.flir.nvidia.order_pointers import FENCE
from tle_raw.flir.nvidia.replace_ports import Spelling
from tle_raw.flir.nvidia.shared_pointers import read_pointers
from tle_raw.linker.llvm.unwanted_barriers import CLOSE, OPEN, OPEN_WIDE

# Kernels without these have no mbarriers, and nothing is gained.
_ASKED = ("ttng.wait_barrier", "ttng.barrier_expect")


def holds_mbarriers(text: str) -> bool:
    """Whether TritonGPU text waits for mbarriers or tells them of bytes to come."""
    return any(name in text for name in _ASKED)


def order_copies(text: str, spelling: Spelling) -> tuple[str, int]:
    """TritonGPU text in generic form, with barriers and marks; how many operations are marked."""
    lines = text.splitlines()
    decision = decide_copies(read_pointers(lines), layout_aliases(lines))
    edits = LineEdits(lines)
    barriers = sorted(decision.barriers)
    for line, side in barriers:
        if (line, side) in decision.fenced:
            edits.insert(line, BEFORE, FENCE)
        if side == BEFORE:
            edits.insert(line, BEFORE, spelling.barrier)
    for number, operation in enumerate(decision.left_out):
        opened = OPEN_WIDE if operation.name == PRODUCTS_DONE else OPEN
        edits.insert(operation.line, BEFORE, _mark(f"%tle_open_{number}", opened))
        edits.insert(operation.end, AFTER, _mark(f"%tle_close_{number}", CLOSE))
    for line in (line for line, side in barriers if side == AFTER):  # outside of marks
        edits.insert(line, AFTER, spelling.barrier)
    return edits.text(), len(decision.left_out)


def _mark(name: str, comment: str) -> str:
    properties = f'<{{asm_string = "{comment}", constraints = "=r", packed_element = 1 : i32, pure = false}}>'
    return f'{name} = "tt.elementwise_inline_asm"() {properties} : () -> i32'
