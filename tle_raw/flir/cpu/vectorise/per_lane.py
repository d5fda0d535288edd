"""What has no vector form is done lane by lane: calls, atomics, loops inside of a body."""

from __future__ import annotations

from typing import Any, Protocol

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.vectorise import build
from tle_raw.flir.cpu.vectorise.lanes import LaneFacts
from tle_raw.flir.cpu.vectorise.operations import captures, walk
from tle_raw.flir.cpu.vectorise.scopes import Scope
from tle_raw.flir.cpu.vectorise.values import VectorisedValue, WrittenValues


class Body(WrittenValues, Protocol):
    """The body that is being written: the scope where it has come to, and which lanes run there."""

    current: Scope
    mask: VectorisedValue | None

    def define(self, result: Any, value: VectorisedValue) -> None:
        """Say what a result of the old body is in the new one."""


def per_lane(body: Body, op: Any) -> None:
    """Write an operation as a loop over the lanes around the operation itself, in lane order."""
    from torch_mlir.dialects import scf

    ir = mlir()
    scope, count = body.current, body.count
    lanewise = {value: body[value] for value in captures(op) if not isinstance(value.type, ir.MemRefType)}
    vectors = {v: None if known.lanes.uniform else known.vector() for v, known in lanewise.items()}
    scalars = {v: known.scalar() for v, known in lanewise.items() if known.lanes.uniform}
    wanted = [i for i, result in enumerate(op.results) if list(result.uses)]
    types = [op.results[i].type for i in wanted]
    mask = body.mask.vector() if body.mask is not None else None
    with scope.point():
        start = [build.splat(build.zero(kind), count) for kind in types]
        loop = scf.ForOp(build.index(0), build.index(count), build.index(1), start)
    with ir.InsertionPoint(loop.body):
        lane = loop.induction_variable
        active = build.extract(mask, lane) if mask is not None else None
        branch = None
        if active is not None:
            branch = scf.IfOp(active, types, has_else=bool(types))
    with ir.InsertionPoint(branch.then_block if branch is not None else loop.body):
        mapping = {v: scalars[v] if vectors[v] is None else build.extract(vectors[v], lane) for v in lanewise}
        clone = op.clone()
        _replace(clone, mapping)
        results = [clone.results[i] for i in wanted]
        if branch is not None:
            scf.YieldOp(results)
            results = list(branch.results)
    if branch is not None and results:
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp([build.zero(kind) for kind in types])
    with ir.InsertionPoint(loop.body):
        scf.YieldOp([build.insert(r, v, lane) for r, v in zip(results, loop.inner_iter_args)])
    for i, made in zip(wanted, loop.results):
        body.define(op.results[i], _lanes_of(made, scope, count))


def _lanes_of(made: Any, scope: Scope, count: int) -> VectorisedValue:
    return VectorisedValue(made.type.element_type, LaneFacts(), scope, count, vector=lambda: made)


def _replace(clone: Any, mapping: dict[Any, Any]) -> None:
    for op in [clone, *walk(clone)]:
        for i, operand in enumerate(op.operands):
            if operand in mapping:
                op.operands[i] = mapping[operand]
