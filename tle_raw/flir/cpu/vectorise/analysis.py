"""Find out for every value of a body how its lanes differ, without making any code."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.vectorise import lanes as rules
from tle_raw.flir.cpu.vectorise.assumptions import Assumption
from tle_raw.flir.cpu.vectorise.build import element_bytes
from tle_raw.flir.cpu.vectorise.lanes import LaneFacts
from tle_raw.flir.cpu.vectorise.operations import is_elementwise, is_plain_load, walk
from tle_raw.flir.cpu.vectorise.tiles import VectorTile

_LAST_PROGRAM = (1 << 31) - 1


class LaneAnalysis:
    """The lanes of every value that a body defines or uses.

    Parameters
    ----------
    body : the block of a ``linalg.generic``.
    tile : which iterations are the lanes.
    assumptions : what has been tested before the body runs.
    outside : what other analyses have found of results that the body does not define. Analyses share it as long as no
        operation is made or erased, and for the same assumptions.
    """

    def __init__(
        self,
        body: Any,
        tile: VectorTile,
        assumptions: Sequence[Assumption] = (),
        outside: dict[Any, LaneFacts] | None = None,
    ) -> None:
        self._count = tile.lanes
        self._found_outside: dict[Any, LaneFacts] = {} if outside is None else outside
        self._assumed = {a.dividend: a for a in assumptions}
        self._within = {a.division.results[0] for a in assumptions if a.below is not None}
        self._tile = tile
        self._zeros = (0,) * tile.lanes
        self._known: dict[Any, LaneFacts] = {}
        self._body = body
        for argument in body.arguments:
            self._known[argument] = LaneFacts()
        self._visit(body)

    def __getitem__(self, value: Any) -> LaneFacts:
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = self._outside(value)
        return known

    def index(self, dim: int) -> LaneFacts:
        """The lanes of a dimension's index."""
        chunk = self._tile.dims[dim]
        multiple = chunk.start if chunk.count == 1 else math.gcd(chunk.start, chunk.lanes)
        return LaneFacts(self._tile.steps(dim), multiple, chunk.start, chunk.stop - 1)

    def define(self, value: Any, known: LaneFacts) -> None:
        """Say what is known of a value that the body does not define by itself."""
        self._known[value] = known

    def _visit(self, block: Any) -> None:
        for view in block.operations:
            op = view.operation
            if op.name == "linalg.index":
                self._known[op.results[0]] = self.index(op.attributes["dim"].value)
            elif op.name == "scf.if":
                self._visit_if(op)
            else:
                for result in op.results:
                    self._known[result] = self._result(op, result)
                for inner in walk(op):
                    self._known.update(dict.fromkeys(inner.results, LaneFacts()))

    def _visit_if(self, op: Any) -> None:
        for region in op.regions:
            for block in region.blocks:
                self._visit(block)
        if not len(op.results):
            return
        then, other = ([self[v] for v in list(region.blocks[0].operations)[-1].operands] for region in op.regions)
        same_way = self[op.operands[0]].uniform
        for result, a, b in zip(op.results, then, other):
            self._known[result] = rules.either(a, b) if same_way else LaneFacts()

    def _result(self, op: Any, result: Any) -> LaneFacts:
        if op.regions or not (is_elementwise(op) or is_plain_load(op)):
            return LaneFacts()
        operands = [self[v] for v in op.operands]
        if result in self._within:
            # The dividend is below the divisor.
            return operands[0] if "rem" in op.name else rules.constant(0, self._count)
        rule = _RULES.get(op.name)
        known = rule(op, operands, self._count) if rule else LaneFacts()
        if result in self._assumed:
            known = replace(known, low=0, high=(1 << (_bits(result) - 1)) - 1)
        if known.steps is None and all(v.uniform for v in operands):
            known = LaneFacts(self._zeros, known.multiple, known.low, known.high)
        return known

    def _outside(self, value: Any) -> LaneFacts:
        """A value from outside of the body is one value for all lanes; only its range and divisors are of interest."""
        owner = value.owner
        if isinstance(owner, mlir().Block):
            return self._argument(owner, value)  # perhaps of a loop in the body: never shared
        known = self._found_outside.get(value)
        if known is None:
            known = self._found_outside[value] = self._outside_result(owner.operation, value)
        return LaneFacts(self._zeros, known.multiple, known.low, known.high)

    def _outside_result(self, op: Any, value: Any) -> LaneFacts:
        if op.regions or not is_elementwise(op) or op.name not in _RULES:
            return LaneFacts()
        return self._result(op, value)

    def _argument(self, block: Any, value: Any) -> LaneFacts:
        parent = block.owner.operation
        if parent.name == "scf.for" and value == block.arguments[0]:
            lower, upper, step = (self[v] for v in list(parent.operands)[:3])
            multiple = math.gcd(lower.multiple, step.multiple)
            if upper.high is None or lower.low is None or not step.not_negative:
                return LaneFacts(self._zeros, multiple)
            return LaneFacts(self._zeros, multiple, lower.low, max(upper.high - 1, lower.low))
        # The last arguments of a kernel: program ids, grid, the areas of scratch memory, context.
        from_end = len(block.arguments) - value.arg_number
        memory = 0
        while memory < from_end and str(block.arguments[len(block.arguments) - 1 - memory].type) == "!llvm.ptr":
            memory += 1
        if parent.name == "func.func" and memory < from_end <= memory + 6 and str(value.type) == "i32":
            return LaneFacts(self._zeros, 1, 0, _LAST_PROGRAM)
        return LaneFacts(self._zeros)


def _bits(value: Any) -> int:
    ir = mlir()
    return 64 if isinstance(value.type, ir.IndexType) else value.type.width


def _is_integer(value: Any) -> bool:
    ir = mlir()
    return isinstance(value.type, ir.IndexType | ir.IntegerType)


_Rule = Callable[[Any, Sequence[LaneFacts], int], LaneFacts]


def _constant(op: Any, operands: Sequence[LaneFacts], count: int) -> LaneFacts:
    if not _is_integer(op.results[0]):
        return LaneFacts()
    return rules.constant(op.attributes["value"].value, count)


def _cut(known: LaneFacts, op: Any) -> LaneFacts:
    return rules.in_bits(known, _bits(op.results[0]))


def _add(op: Any, operands: Sequence[LaneFacts], count: int) -> LaneFacts:
    return _cut(rules.add(operands[0], operands[1]), op)


def _subtract(op: Any, operands: Sequence[LaneFacts], count: int) -> LaneFacts:
    return _cut(rules.add(operands[0], operands[1], -1), op)


def _multiply(op: Any, operands: Sequence[LaneFacts], count: int) -> LaneFacts:
    return _cut(rules.multiply(operands[0], operands[1]), op)


def _shift_left(op: Any, operands: Sequence[LaneFacts], count: int) -> LaneFacts:
    places = operands[1].constant
    if places is None or not 0 <= places < _bits(op.results[0]):
        return LaneFacts()
    return _cut(rules.multiply(operands[0], rules.constant(1 << places, count)), op)


def _divisor(op: Any, value: LaneFacts) -> int | None:
    """A constant positive divisor; a shift to the right counts as one."""
    number = value.constant
    if number is None:
        return None
    if op.name.startswith("arith.shr"):
        return 1 << number if 0 <= number < _bits(op.results[0]) else None
    return number if number > 0 else None


def _divide(op: Any, operands: Sequence[LaneFacts], count: int) -> LaneFacts:
    divisor = _divisor(op, operands[1])
    if divisor is None or not operands[0].not_negative:
        return LaneFacts()
    return rules.quotient(operands[0], divisor)


def _remainder(op: Any, operands: Sequence[LaneFacts], count: int) -> LaneFacts:
    divisor = _divisor(op, operands[1])
    if divisor is None or not operands[0].not_negative:
        return LaneFacts()
    return rules.remainder(operands[0], divisor)


def _low_bits(op: Any, operands: Sequence[LaneFacts], count: int) -> LaneFacts:
    """``x & (2**k - 1)``."""
    for x, mask in (operands, operands[::-1]):
        number = mask.constant
        if number is not None and number > 0 and number & (number + 1) == 0:
            return rules.remainder(x, number + 1)
    return LaneFacts()


def _disjoint_or(op: Any, operands: Sequence[LaneFacts], count: int) -> LaneFacts:
    """``a | b`` is ``a + b`` when b has only bits below a's lowest."""
    for a, b in (operands, operands[::-1]):
        if a.steps is not None and b.not_negative and b.high is not None:
            unit = a.power_of_two
            for step in a.steps:
                unit = math.gcd(unit, abs(step))
            if b.high < unit:
                return _cut(rules.add(a, b), op)
    return LaneFacts()


def _extend_signed(op: Any, operands: Sequence[LaneFacts], count: int) -> LaneFacts:
    narrow, wide = _bits(op.operands[0]), _bits(op.results[0])
    return rules.signed_extension(operands[0], narrow) if narrow < wide else rules.in_bits(operands[0], wide)


def _extend_unsigned(op: Any, operands: Sequence[LaneFacts], count: int) -> LaneFacts:
    narrow, wide = _bits(op.operands[0]), _bits(op.results[0])
    return rules.unsigned_extension(operands[0]) if narrow < wide else rules.in_bits(operands[0], wide)


def _select(op: Any, operands: Sequence[LaneFacts], count: int) -> LaneFacts:
    return rules.either(operands[1], operands[2]) if operands[0].uniform else LaneFacts()


def _same(op: Any, operands: Sequence[LaneFacts], count: int) -> LaneFacts:
    return LaneFacts(operands[0].steps)


def _address(op: Any, operands: Sequence[LaneFacts], count: int) -> LaneFacts:
    """A pointer's steps are counted in bytes."""
    size = element_bytes(op.attributes["elem_type"].value)
    constants = list(op.attributes["rawConstantIndices"])
    if size is None or len(constants) != 1:
        return LaneFacts()
    base = LaneFacts(operands[0].steps)
    if len(operands) == 1:
        return base
    bits = _bits(op.operands[1])
    offset = rules.signed_extension(operands[1], bits) if bits < 64 else operands[1]
    return LaneFacts(rules.add(base, rules.multiply(offset, rules.constant(size, count))).steps)


_EQUAL, _NOT_EQUAL = 0, 1
_SIGNED_ORDERS = {2: "<", 3: "<=", 4: ">", 5: ">="}


def _compare(op: Any, operands: Sequence[LaneFacts], count: int) -> LaneFacts:
    """A comparison that the ranges decide is the same in all lanes."""
    a, b = operands
    predicate = op.attributes["predicate"].value
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return LaneFacts()
    apart = a.high < b.low or b.high < a.low
    if predicate in (_EQUAL, _NOT_EQUAL):
        decided = apart
    else:
        touches = a.high <= b.low if predicate in (3, 4) else a.low >= b.high
        decided = predicate in _SIGNED_ORDERS and (apart or touches)
    return LaneFacts((0,) * count) if decided else LaneFacts()


_RULES: dict[str, _Rule] = {
    "arith.constant": _constant,
    "arith.addi": _add,
    "arith.subi": _subtract,
    "arith.muli": _multiply,
    "arith.shli": _shift_left,
    "arith.divsi": _divide,
    "arith.divui": _divide,
    "arith.floordivsi": _divide,
    "arith.shrsi": _divide,
    "arith.shrui": _divide,
    "arith.remsi": _remainder,
    "arith.remui": _remainder,
    "arith.andi": _low_bits,
    "arith.ori": _disjoint_or,
    "arith.index_cast": _extend_signed,
    "arith.extsi": _extend_signed,
    "arith.trunci": _extend_signed,
    "arith.index_castui": _extend_unsigned,
    "arith.extui": _extend_unsigned,
    "arith.cmpi": _compare,
    "arith.select": _select,
    "llvm.getelementptr": _address,
    "llvm.inttoptr": _same,
    "llvm.ptrtoint": _same,
}
