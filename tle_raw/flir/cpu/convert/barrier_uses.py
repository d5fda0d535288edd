"""Which use of a barrier a wait is for, where the kernel counts them: then phases that ran ahead of it are found.

A barrier tells the parity of its phases alone. A wait that comes when the phase after its own is complete too waits
for ever on a GPU, or passes one round later. ``barrier_wait`` takes the number of the use, of which Triton IR keeps the
lowest bit; what that was taken of is looked up here. Numbers that may be parities already count no uses: constants, and
what a kernel flips or cuts.
"""

from __future__ import annotations

from typing import Any

from tle_raw.flir.cpu.convert import build, lazy
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.convert.shared_buffers import SharedBuffer
from tle_raw.flir.cpu.mlir_values import Value

# What a number of uses is made by: numbers of steps, and of rounds through a ring.
_COUNTS = ("arith.addi", "arith.muli", "arith.extsi", "arith.extui")
_ROUNDS = ("arith.divsi", "arith.divui", "arith.shrsi", "arith.shrui", "arith.floordivsi")


def phases_wanted(kernel: Kernel, barrier: SharedBuffer, parity: Value) -> Value | None:
    """How many phases must be complete, as i64: in partitions, under ``knobs.debug``, where it is known."""
    is_counted = kernel.partitions is not None and kernel.plan.specialised == 1
    is_counted &= not kernel.plan.hands_out_barriers
    if not is_counted or barrier.stamps is None or barrier.is_ready is None:
        return None
    op = lazy.definition(parity)
    if op is None or op.name != "arith.andi" or _constant(op.operands[1]) != 1 or not _counts(op.operands[0]):
        return None
    # The front end counts uses of a barrier that begins ready from one on, and use 0 is over before any arrival.
    number = build.cast_integer(kernel.scalar(op.operands[0]), "i64")
    return build.binary("addi", number, build.constant(-1 if barrier.is_ready else 1, "i64"))


def _counts(number: Value) -> bool:
    """Whether a number grows with the uses of a barrier and never begins again, as far as can be seen."""
    waiting, seen, varies = [number], set(), False
    while waiting:
        value = waiting.pop()
        if value in seen or _constant(value) is not None:
            continue
        seen.add(value)
        op = lazy.definition(value)
        if op is None:
            varies, carried = True, _carried(value)
            if carried is None:
                return False
            waiting += carried
        elif op.name in _COUNTS:
            waiting += op.operands
        elif op.name in _ROUNDS:
            waiting.append(op.operands[0])
        elif op.name == "scf.for":
            position = next(n for n, result in enumerate(op.results) if result == value)
            waiting += _both(op, position)
        elif op.name not in ("tt.get_program_id", "tt.get_num_programs"):
            return False
    return varies


def _carried(argument: Any) -> list[Value] | None:
    """What an argument of a loop is at first and then; None where it begins again, or is not known."""
    op, number = argument.owner.owner.operation, argument.arg_number
    if op.name != "scf.for":
        return [] if op.name in ("func.func", "ttg.warp_specialize.partitions") else None
    if number == 0:
        return None if _is_repeated(op) else []
    first, then = _both(op, number - 1)
    return None if _is_repeated(op) and _constant(first) is not None else [first, then]


def _is_repeated(op: Any) -> bool:
    """Whether a loop stands in another one."""
    while op.name != "func.func":
        op = op.parent.operation
        if op.name in ("scf.for", "scf.while"):
            return True
    return False


def _both(loop: Any, position: int) -> list[Value]:
    last = list(loop.regions[0].blocks[0].operations)[-1].operation
    return [loop.operands[3 + position], last.operands[position]]


def _constant(value: Value) -> int | None:
    op = lazy.definition(value)
    return int(op.attributes["value"].value) if op is not None and op.name == "arith.constant" else None
