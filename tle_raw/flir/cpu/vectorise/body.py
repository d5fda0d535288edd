"""Write the body of a ``linalg.generic`` once more, on vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.vectorise import build
from tle_raw.flir.cpu.vectorise.analysis import LaneAnalysis
from tle_raw.flir.cpu.vectorise.lanes import LaneFacts
from tle_raw.flir.cpu.vectorise.memory import LaneAccess, Memory
from tle_raw.flir.cpu.vectorise.operations import (
    DIVISIONS,
    captures,
    is_elementwise,
    is_plain_load,
    is_plain_store,
    walk,
)
from tle_raw.flir.cpu.vectorise.per_lane import per_lane
from tle_raw.flir.cpu.vectorise.scopes import LoopNest, Scope
from tle_raw.flir.cpu.vectorise.values import VectorisedValue

_Makes = Callable[[], list[Any]]


class VectorBody:
    """Writes vector code for a body into a loop nest, one operation after the other.

    Operations without effects are written when somebody needs them, in the outermost loop that they can stand in;
    loads, stores and branches are written where they come.
    """

    def __init__(self, analysis: LaneAnalysis, nest: LoopNest, lanes: int, memory: Memory) -> None:
        self.count = lanes
        self.memory = memory
        self.current = nest.innermost
        self.mask: VectorisedValue | None = None
        self._analysis = analysis
        self._nest = nest
        self._floor = nest.scopes[0]
        self._values: dict[Any, VectorisedValue] = {}
        self._instead: dict[Any, VectorisedValue] = {}
        self._merged: set[Any] = set()
        self._wrote = False

    # -- values

    def __getitem__(self, value: Any) -> VectorisedValue:
        known = self._values.get(value)
        if known is None:
            lanes = self._analysis[value]
            known = VectorisedValue(value.type, lanes, self._nest.scopes[0], self.count, scalar=lambda: value)
            self._values[value] = known
        return known

    def index(self, dim: int) -> VectorisedValue:
        start, scope = self._nest.starts[dim]
        return VectorisedValue(start.type, self._analysis.index(dim), scope, self.count, scalar=lambda: start)

    def define(self, result: Any, value: VectorisedValue) -> None:
        self._values[result] = value

    def innermost_of(self, values: Sequence[VectorisedValue]) -> Scope:
        """The outermost scope in which code that needs these values can stand."""
        return max([self._floor, *(v.scope for v in values)], key=lambda scope: scope.level)

    # -- operations

    def emit(self, block: Any) -> None:
        """Write a block's operations, all but its terminator."""
        for view in list(block.operations)[:-1]:
            op = view.operation
            with op.location:
                self._emit(op)

    def _emit(self, op: Any) -> None:
        if op.name == "linalg.index":
            self.define(op.results[0], self.index(op.attributes["dim"].value))
        elif op.name == "scf.if":
            self._emit_if(op)
        elif is_plain_load(op) and self.memory.can_reach(op):
            self.define(op.results[0], self.load(self._access(op), op.results[0]))
        elif is_plain_store(op) and self.memory.can_reach(op):
            self.store(self._access(op), self[op.operands[0]])
        elif is_elementwise(op) and not op.regions:
            self._define_elementwise(op)
        else:
            per_lane(self, op)
            self._wrote = True

    def _define_elementwise(self, op: Any) -> None:
        operands = [self[v] for v in op.operands]
        scope = self.innermost_of(operands)
        if self.mask is not None and op.name in DIVISIONS and self._may_trap(op):
            operands[1] = self._safe_divisor(operands[1], operands[0].lanes.uniform)
            scope = self.innermost_of(operands)
        vectors = lru_cache(lambda: self._on_vectors(op, operands, scope))
        if all(v.follows_from_first_lane for v in operands):
            scalars = lru_cache(lambda: self._on_scalars(op, operands, scope))
        else:
            # Lanes can be the same without their operands being so: a comparison that ranges decide.
            scalars = lru_cache(lambda: self._first_lanes(vectors(), scope))
        for number, result in enumerate(op.results):
            self.define(result, self._nth(number, result, scope, scalars, vectors))

    def _nth(self, number: int, result: Any, scope: Scope, scalars: _Makes, vectors: _Makes) -> VectorisedValue:
        lanes = self._analysis[result]
        scalar = (lambda: scalars()[number]) if lanes.steps is not None else None
        return VectorisedValue(result.type, lanes, scope, self.count, scalar=scalar, vector=lambda: vectors()[number])

    def _may_trap(self, op: Any) -> bool:
        """Lanes are known to differ, or to agree where the dividend's do not, for divisors that are safe alone."""
        result, dividend = self._analysis[op.results[0]], self._analysis[op.operands[0]]
        return result.steps is None or (result.uniform and dividend.uniform)

    @staticmethod
    def _first_lanes(vectors: Sequence[Any], scope: Scope) -> list[Any]:
        with scope.point():
            return [build.extract(vector, 0) for vector in vectors]

    def _on_scalars(self, op: Any, operands: Sequence[VectorisedValue], scope: Scope) -> list[Any]:
        scalars = [v.scalar() for v in operands]
        clone = op.clone(scope.point())
        for i, scalar in enumerate(scalars):
            clone.operands[i] = scalar
        return list(clone.results)

    def _on_vectors(self, op: Any, operands: Sequence[VectorisedValue], scope: Scope) -> list[Any]:
        vectors = [v.vector() for v in operands]
        types = [build.vector_type(self.count, result.type) for result in op.results]
        attributes = {name: op.attributes[name] for name in op.attributes}
        with scope.point():
            made = mlir().Operation.create(
                op.name, results=types, operands=vectors, attributes=attributes, loc=op.location
            )
        return list(made.results)

    def _safe_divisor(self, divisor: VectorisedValue, uniform_dividend: bool) -> VectorisedValue:
        """Lanes that are masked off must not divide by zero."""
        if divisor.lanes.constant not in (None, 0, -1):
            return divisor
        mask = self.mask
        assert mask is not None

        def scalar() -> Any:
            plain = divisor.scalar()
            with scope.point():
                one = build.constant(divisor.element, 1)
            active = mask.vector()
            with scope.point():
                return build.operation("arith.select", [plain.type], [build.any_lane(active), plain, one])

        def vector() -> Any:
            plain, active = divisor.vector(), mask.vector()
            with scope.point():
                one = build.splat(build.constant(divisor.element, 1), self.count)
                return build.operation("arith.select", [plain.type], [active, plain, one])

        scope = self.innermost_of([divisor, mask])
        all_equal = divisor.lanes.uniform and uniform_dividend
        if all_equal:
            return VectorisedValue(divisor.element, divisor.lanes, scope, self.count, scalar=scalar)
        return VectorisedValue(divisor.element, LaneFacts(), scope, self.count, vector=vector)

    # -- memory

    def _access(self, op: Any) -> LaneAccess:
        return self.memory.access(op, self)

    def load(self, access: LaneAccess, result: Any) -> VectorisedValue:
        """Write a load; what ``result`` holds in lanes that are masked off nobody asks for."""
        other = self._instead.get(result)
        needed = [*access.operands, *([self.mask] if self.mask else []), *([other] if other else [])]
        scope = self.current if self._wrote else self.innermost_of(needed)
        value, merged = self.memory.load(access, self.mask, other, scope, self.count)
        if merged:
            self._merged.add(result)
        return value

    def store(self, access: LaneAccess, value: VectorisedValue) -> None:
        self.memory.store(access, value, self.mask, self.current, self.count)
        self._wrote = True

    # -- branches

    def _emit_if(self, op: Any) -> None:
        if self[op.operands[0]].lanes.uniform:
            self._emit_branch(op)
        else:
            self._emit_masked(op)

    def _emit_masked(self, op: Any) -> None:
        """Both sides are written one after the other, their accesses under masks."""
        condition = self[op.operands[0]]
        then, other = (list(region.blocks) for region in op.regions)
        then_values, other_values = _yielded(then), _yielded(other)
        inside = {result for inner in walk(op) for result in inner.results}
        for a, b in zip(then_values, other_values):
            if b not in inside:
                self._instead[a] = self[b]
        with self._masked(condition):
            self.emit(then[0])
        if other and len(list(other[0].operations)) > 1:
            with self._masked(self._negated(condition)):
                self.emit(other[0])
        for result, a, b in zip(op.results, then_values, other_values):
            self.define(result, self[a] if a in self._merged else self._selected(condition, self[a], self[b]))

    @contextmanager
    def _masked(self, condition: VectorisedValue) -> Iterator[None]:
        outer = self.mask
        self.mask = condition if outer is None else self._elementwise("arith.andi", [outer, condition])
        try:
            yield
        finally:
            self.mask = outer

    def _negated(self, condition: VectorisedValue) -> VectorisedValue:
        scope = self._nest.scopes[0]
        with scope.point():
            true = build.constant(mlir().IntegerType.get_signless(1), 1)
        everywhere = VectorisedValue(true.type, LaneFacts((0,) * self.count), scope, self.count, scalar=lambda: true)
        return self._elementwise("arith.xori", [condition, everywhere])

    def _selected(self, condition: VectorisedValue, a: VectorisedValue, b: VectorisedValue) -> VectorisedValue:
        return self._elementwise("arith.select", [condition, a, b])

    def _elementwise(self, name: str, operands: Sequence[VectorisedValue]) -> VectorisedValue:
        scope = self.innermost_of(operands)
        element = operands[-1].element

        def vector() -> Any:
            vectors = [v.vector() for v in operands]
            with scope.point():
                return build.operation(name, [build.vector_type(self.count, element)], vectors)

        return VectorisedValue(element, LaneFacts(), scope, self.count, vector=vector)

    def _emit_branch(self, op: Any) -> None:
        """A condition that is the same in all lanes stays a branch."""
        from torch_mlir.dialects import scf

        condition = self[op.operands[0]].scalar()
        scope = self._scope_of_branch(op)
        follows = [self._analysis[result].steps is not None for result in op.results]
        types = [
            result.type if first else build.vector_type(self.count, result.type)
            for result, first in zip(op.results, follows)
        ]
        blocks = [block for region in op.regions for block in region.blocks]
        with scope.point():
            branch = scf.IfOp(condition, types, has_else=len(blocks) > 1)
        with scope.in_front_of(branch.operation):
            self._fill(branch.then_block, blocks[0], follows, scope)
            if len(blocks) > 1:
                self._fill(branch.else_block, blocks[1], follows, scope)
        for result, made, first in zip(op.results, branch.results, follows):
            self.define(result, self._ready(made, result, scope, first))

    def _ready(self, made: Any, result: Any, scope: Scope, first: bool) -> VectorisedValue:
        lanes = self._analysis[result]
        if first:
            return VectorisedValue(result.type, lanes, scope, self.count, scalar=lambda: made)
        return VectorisedValue(result.type, lanes, scope, self.count, vector=lambda: made)

    def _scope_of_branch(self, op: Any) -> Scope:
        effects = any(not (is_elementwise(o) or is_plain_load(o) or o.name.startswith("scf.")) for o in walk(op))
        if effects or self._wrote:
            return self.current
        needed = [self[v] for v in captures(op)]
        return self.innermost_of([*needed, *([self.mask] if self.mask else [])])

    def _fill(self, block: Any, source: Any, follows: Sequence[bool], scope: Scope) -> None:
        from torch_mlir.dialects import scf

        floor, current = self._floor, self.current
        self._floor = self.current = scope.branch(block)
        self.emit(source)
        results = [self[v] for v in _yielded([source])]
        values = [v.scalar() if first else v.vector() for v, first in zip(results, follows)]
        self._floor, self.current = floor, current
        with mlir().InsertionPoint(block):
            scf.YieldOp(values)


def _yielded(blocks: Sequence[Any]) -> list[Any]:
    return list(list(blocks[0].operations)[-1].operands) if blocks else []
