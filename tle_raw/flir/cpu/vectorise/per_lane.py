"""What has no vector form is done lane by lane: calls, atomics, loops inside of a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.vectorise import build
from tle_raw.flir.cpu.vectorise.lanes import Lanes
from tle_raw.flir.cpu.vectorise.operations import captures, walk
from tle_raw.flir.cpu.vectorise.values import Value

if TYPE_CHECKING:
    from tle_raw.flir.cpu.vectorise.body import VectorBody


def per_lane(body: VectorBody, op: Any) -> None:
    """Write an operation as a loop over the lanes around the operation itself, in lane order."""
    from torch_mlir.dialects import scf

    ir = mlir()
    scope, count = body.current, body.count
    lanewise = {value: body[value] for value in captures(op) if not isinstance(value.type, ir.MemRefType)}
    vectors = {v: None if known.lanes.uniform else known.vector() for v, known in lanewise.items()}
    scalars = {v: known.scalar() for v, known in lanewise.items() if known.lanes.uniform}
    mask = body.mask.vector() if body.mask is not None else None
    with scope.point():
        start = [build.splat(build.zero(result.type), count) for result in op.results]
        loop = scf.ForOp(build.index(0), build.index(count), build.index(1), start)
    with ir.InsertionPoint(loop.body):
        lane = loop.induction_variable
        active = build.extract(mask, lane) if mask is not None else None
        branch = None
        if active is not None:
            branch = scf.IfOp(active, [result.type for result in op.results], has_else=bool(len(op.results)))
    with ir.InsertionPoint(branch.then_block if branch is not None else loop.body):
        mapping = {v: scalars[v] if vectors[v] is None else build.extract(vectors[v], lane) for v in lanewise}
        clone = op.clone()
        _replace(clone, mapping)
        results = list(clone.results)
        if branch is not None:
            scf.YieldOp(results)
            results = list(branch.results)
    if branch is not None and results:
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp([build.zero(result.type) for result in op.results])
    with ir.InsertionPoint(loop.body):
        scf.YieldOp([build.insert(r, v, lane) for r, v in zip(results, loop.inner_iter_args)])
    for result, made in zip(op.results, loop.results):
        body.define(result, Value(result.type, Lanes(), scope, count, vector=lambda made=made: made))


def _replace(clone: Any, mapping: dict[Any, Any]) -> None:
    for op in [clone, *walk(clone)]:
        for i, operand in enumerate(op.operands):
            if operand in mapping:
                op.operands[i] = mapping[operand]
