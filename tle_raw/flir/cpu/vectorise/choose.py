"""Choose which dimensions of a tile become the lanes of a vector, and how many lanes there are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.vectorise import tiles
from tle_raw.flir.cpu.vectorise.analysis import LaneAnalysis
from tle_raw.flir.cpu.vectorise.assumptions import Assumption
from tle_raw.flir.cpu.vectorise.build import element_bytes
from tle_raw.flir.cpu.vectorise.memory import buffer_steps, pointer_steps
from tle_raw.flir.cpu.vectorise.operations import is_plain_load, is_plain_store, walk

# A mask of more lanes does not fit into one mask register.
_MOST_LANES = 64
# Up to this many operations a body's values fit into registers four times, or twice.
_SHORT_BODY = 24
_MIDDLE_BODY = 80
# What a math function expands to, in operations.
_MATH_OPERATIONS = 12


def choose_lanes(
    body: Any, shape: Sequence[int], vector_bytes: int, assumptions: Sequence[Assumption] = ()
) -> tuple[int, ...]:
    """Lanes per dimension, for a body that runs under assumptions."""
    most = _most_lanes(body, shape, vector_bytes)
    candidates = dict.fromkeys(_candidates(shape, most))
    if len(candidates) == 1:
        return next(iter(candidates))
    return min(candidates, key=lambda lanes: _cost(body, shape, lanes, vector_bytes, assumptions))


def _candidates(shape: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """The innermost dimension comes first: it wins where the costs are equal."""
    wide = [dim for dim in reversed(range(len(shape))) if shape[dim] > 1] or [len(shape) - 1]
    yield tiles.across_rows(shape, most)
    for dim in wide:
        yield tiles.along(shape, dim, most)


def _most_lanes(body: Any, shape: Sequence[int], vector_bytes: int) -> int:
    """Enough lanes to fill some registers with the widest elements that the body computes with."""
    analysis = LaneAnalysis(body, tiles.split(shape, tiles.across_rows(shape, _MOST_LANES))[0])
    widest, operations = 1, 0
    for view in body.operations:
        for op in [view.operation, *walk(view.operation)]:
            # What follows from lane 0 is scalar address arithmetic.
            varying = [v for v in op.results if analysis[v].steps is None]
            stored = [op.operands[0]] if is_plain_store(op) else []
            if varying:
                operations += _MATH_OPERATIONS if op.name.startswith("math.") else 1
            widest = max([widest, *(_width(op, value) for value in [*varying, *stored])])
    widest = max([widest, *(_width(op, value) for value in list(body.operations)[-1].operands)])
    registers = 4 if operations <= _SHORT_BODY else 2 if operations <= _MIDDLE_BODY else 1
    return min(_MOST_LANES, max(1, registers * vector_bytes // widest))


def _width(op: Any, value: Any) -> int:
    """Bytes of one lane in a register; 16-bit floats are computed with in 32 bits."""
    ir = mlir()
    if str(value.type) == "!llvm.ptr":
        return 1
    size = element_bytes(value.type) or 1
    computes = op.name.startswith(("arith.", "math."))
    return 4 if computes and isinstance(value.type, ir.FloatType) and size < 4 else size


def _cost(
    body: Any, shape: Sequence[int], lanes: Sequence[int], vector_bytes: int, assumptions: Sequence[Assumption]
) -> float:
    """What the accesses of one vector cost, per lane; a plain vector access costs one."""
    tile = tiles.split(shape, lanes)[0]
    analysis = LaneAnalysis(body, tile, assumptions)
    total = 1.0
    for view in body.operations:
        for op in [view.operation, *walk(view.operation)]:
            if is_plain_load(op) or is_plain_store(op):
                total += _access_cost(op, analysis, tile.lanes, vector_bytes)
    yielded = list(body.operations)[-1].operands
    total += len(yielded) * (1 if _row_major(shape, lanes) else tile.lanes)
    return total / math.prod(lanes)


def _access_cost(op: Any, analysis: LaneAnalysis, count: int, vector_bytes: int) -> float:
    operands = list(op.operands)
    element = op.results[0].type if len(op.results) else operands.pop(0).type
    size = element_bytes(element)
    if size is None:
        return 4.0 * count
    if op.name.startswith("llvm."):
        steps = pointer_steps(analysis[operands[0]], size)
    else:
        steps = buffer_steps(operands[0].type, [analysis[v] for v in operands[1:]], count)
    if steps is None:
        return 2.0 * count
    if not any(steps):
        return 0.5
    span = max(steps) - min(steps) + 1
    registers = max(1.0, count * size / vector_bytes)
    if steps == tuple(range(count)):
        return registers
    return 2 * registers * span / count if span <= 4 * count else 2.0 * count


def _row_major(shape: Sequence[int], lanes: Sequence[int]) -> bool:
    """Whether the lanes are contiguous in a buffer of the tile's shape."""
    tile = tiles.split(shape, lanes)[0]
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    steps = [0] * tile.lanes
    for dim, stride in enumerate(strides):
        steps = [s + stride * step for s, step in zip(steps, tile.steps(dim))]
    return steps == list(range(tile.lanes))
