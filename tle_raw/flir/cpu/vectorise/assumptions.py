"""What makes index arithmetic contiguous and can only be known when the kernel runs.

``(pid * 64 + i) % n`` is ``pid * 64 + i`` for all programs but those at the edge, and ``// 64`` of it is the same for
64 lanes unless it is negative. Such conditions are tested once, in front of the loops: where they hold the body runs in
a form that makes use of them, elsewhere in one that does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.vectorise import build
from tle_raw.flir.cpu.vectorise.lanes import KnownLanes
from tle_raw.flir.cpu.vectorise.operations import walk

_DIVISIONS = ("arith.divsi", "arith.remsi", "arith.divui", "arith.remui", "arith.floordivsi")
_FEWEST_SUMMED_BITS = 32


@dataclass(frozen=True)
class Assumption:
    """The dividend of ``division`` is not negative and does not overflow, and is below ``below`` if there is one.

    The dividend is the sum of ``terms``, which the body does not define, and of a rest between ``low`` and ``high``.
    """

    division: Any
    terms: tuple[Any, ...]
    low: int
    high: int
    bits: int
    below: Any = None

    @property
    def dividend(self) -> Any:
        return self.division.operands[0]


def find_assumptions(body: Any, analysis: KnownLanes) -> list[Assumption]:
    """The assumptions that would tell how the lanes of a division differ, where that is not known anyway."""
    return [
        assumption
        for view in body.operations
        for op in [view.operation, *walk(view.operation)]
        if op.name in _DIVISIONS
        for assumption in _of_division(op, body, analysis)
    ]


def _of_division(op: Any, body: Any, analysis: KnownLanes) -> Iterator[Assumption]:
    dividend, divisor = analysis[op.operands[0]], analysis[op.operands[1]]
    constant = divisor.constant
    below = None if constant is not None else _runtime_divisor(op.operands[1], body)
    if dividend.steps is None or dividend.uniform or (constant is not None and dividend.not_negative):
        return
    if (constant is None and below is None) or (constant is not None and constant <= 0):
        return
    parts = _parts(op.operands[0], body, analysis)
    if parts is None:
        return
    terms, low, high = parts
    bits = 64 if isinstance(op.operands[0].type, mlir().IndexType) else op.operands[0].type.width
    if bits <= _FEWEST_SUMMED_BITS or len(terms) <= 1:
        yield Assumption(op, tuple(terms), low, high, bits, below)


def _runtime_divisor(value: Any, body: Any) -> Any:
    """A divisor from outside of the body; also inside of the guard that puts 1 for one that cannot be divided by."""
    if _is_outside(value, body):
        return value
    op = value.owner.operation if not isinstance(value.owner, mlir().Block) else None
    if op is None or op.name != "arith.select" or not _is_outside(op.operands[2], body):
        return None
    replacement = op.operands[1].owner
    is_one = not isinstance(replacement, mlir().Block) and replacement.operation.name == "arith.constant"
    return op.operands[2] if is_one and replacement.operation.attributes["value"].value == 1 else None


def _is_outside(value: Any, body: Any) -> bool:
    ir = mlir()
    owner = value.owner
    block = owner if isinstance(owner, ir.Block) else owner.operation.block
    while block != body:
        parent = block.owner.operation
        if parent.name == "func.func":
            return True
        block = parent.block
    return False


def _parts(value: Any, body: Any, analysis: KnownLanes) -> tuple[list[Any], int, int] | None:
    """Terms from outside, and the bounds of what is added to them."""
    known = analysis[value]
    if known.low is not None and known.high is not None:
        return [], known.low, known.high
    if _is_outside(value, body):
        return [value], 0, 0
    if isinstance(value.owner, mlir().Block):
        return None
    op = value.owner.operation
    if op.name in ("arith.extsi", "arith.index_cast"):
        return _parts(op.operands[0], body, analysis) if _widens(op) else None
    if op.name not in ("arith.addi", "arith.subi"):
        return None
    a, b = (_parts(operand, body, analysis) for operand in op.operands)
    if a is None or b is None:
        return None
    if op.name == "arith.addi":
        return a[0] + b[0], a[1] + b[1], a[2] + b[2]
    return (a[0], a[1] - b[2], a[2] - b[1]) if not b[0] else None


def _widens(op: Any) -> bool:
    ir = mlir()
    narrow, wide = op.operands[0].type, op.results[0].type
    return not isinstance(narrow, ir.IndexType) and (isinstance(wide, ir.IndexType) or narrow.width <= wide.width)


def assumptions_hold(assumptions: Sequence[Assumption]) -> Any:
    """Write the test of all assumptions: an i1."""
    ir = mlir()
    i64, flag = ir.IntegerType.get_signless(64), ir.IntegerType.get_signless(1)
    result = build.constant(flag, 1)

    def require(predicate: int, a: Any, b: Any) -> None:
        nonlocal result
        holds = build.operation("arith.cmpi", [flag], [a, b], predicate=ir.IntegerAttr.get(i64, predicate))
        result = build.operation("arith.andi", [flag], [result, holds])

    at_most, at_least = 3, 5
    for assumption in assumptions:
        total = build.constant(i64, 0)
        for term in assumption.terms:
            total = build.operation("arith.addi", [i64], [total, _widened(term, i64)])
        if assumption.below is not None:
            last = build.operation(
                "arith.subi",
                [i64],
                [_widened(assumption.below, i64), build.constant(i64, assumption.high + 1)],
            )
        else:
            last = build.constant(i64, _largest(assumption) - assumption.high)
        require(at_least, total, build.constant(i64, -assumption.low))
        require(at_most, total, last)
    return result


def _largest(assumption: Assumption) -> int:
    """Half of what 64 bits hold: the test itself must not overflow."""
    return (1 << min(assumption.bits - 1, 62)) - 1


def _widened(value: Any, i64: Any) -> Any:
    ir = mlir()
    if isinstance(value.type, ir.IndexType):
        return build.operation("arith.index_cast", [i64], [value])
    return value if value.type.width == 64 else build.operation("arith.extsi", [i64], [value])
