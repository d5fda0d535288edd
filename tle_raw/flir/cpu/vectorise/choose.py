"""Choose which dimensions of a tile become the lanes of a vector, and how many lanes there are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.mlir_values import Block, Operation, Value
from tle_raw.flir.cpu.vectorise import tiles
from tle_raw.flir.cpu.vectorise.analysis import LaneAnalysis
from tle_raw.flir.cpu.vectorise.assumptions import Assumption
from tle_raw.flir.cpu.vectorise.build import element_bytes
from tle_raw.flir.cpu.vectorise.lanes import LaneFacts
from tle_raw.flir.cpu.vectorise.memory import buffer_steps, pointer_steps, runs_of
from tle_raw.flir.cpu.vectorise.operations import is_copy, is_plain_load, is_plain_store, walk

# A mask of more lanes does not fit into one mask register.
_MOST_LANES = 64
# Up to this many operations a body's values fit into registers four times, or twice.
_SHORT_BODY = 24
_MIDDLE_BODY = 80
# What a register costs that is stored to be transposed later.
_TRANSPOSED = 8
_ADDRESS_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui")
# What a math function expands to, in operations.
_MATH_OPERATIONS = 12


def choose_lanes(
    body: Block,
    maps: Sequence[Sequence[int]],
    shape: Sequence[int],
    vector_bytes: int,
    assumptions: Sequence[Assumption] = (),
) -> tuple[int, ...]:
    """Lanes per dimension, for a body that runs under assumptions.

    ``maps`` holds the dimensions that index each operand.
    """
    outside: dict[Value, LaneFacts] = {}
    most = _most_lanes(body, shape, vector_bytes, {} if assumptions else outside)
    candidates = dict.fromkeys(_candidates(shape, most))
    if len(candidates) == 1:
        return next(iter(candidates))
    return min(candidates, key=lambda lanes: _cost(body, maps, shape, lanes, vector_bytes, assumptions, outside))


def _candidates(shape: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """The innermost dimension comes first: it wins where the costs are equal."""
    wide = [dim for dim in reversed(range(len(shape))) if shape[dim] > 1] or [len(shape) - 1]
    yield tiles.across_rows(shape, most)
    for dim in wide:
        yield tiles.along(shape, dim, most)
    for dim in wide[1:]:
        square = tiles.block(shape, dim, wide[0], most)
        if square is not None:
            yield square


def _most_lanes(body: Block, shape: Sequence[int], vector_bytes: int, outside: dict[Value, LaneFacts]) -> int:
    """Enough lanes to fill some registers with the widest elements that the body computes with."""
    analysis = LaneAnalysis(body, tiles.split(shape, tiles.across_rows(shape, _MOST_LANES))[0], outside=outside)
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


def _width(op: Operation, value: Value) -> int:
    """Bytes of one lane in a register, address arithmetic aside; 16-bit floats are computed with in 32 bits."""
    ir = mlir()
    if str(value.type) == "!llvm.ptr" or isinstance(value.type, ir.IndexType) or op.name in _ADDRESS_CASTS:
        return 1
    size = element_bytes(value.type) or 1
    computes = op.name.startswith(("arith.", "math."))
    return 4 if computes and isinstance(value.type, ir.FloatType) and size < 4 else size


def _cost(
    body: Block,
    maps: Sequence[Sequence[int]],
    shape: Sequence[int],
    lanes: Sequence[int],
    vector_bytes: int,
    assumptions: Sequence[Assumption],
    outside: dict[Value, LaneFacts],
) -> float:
    """What the accesses of one vector cost, per lane; a plain vector access costs one."""
    tile = tiles.split(shape, lanes)[0]
    analysis = LaneAnalysis(body, tile, assumptions, outside)
    total = 1.0
    for view in body.operations:
        for op in [view.operation, *walk(view.operation)]:
            if is_plain_load(op) or is_plain_store(op):
                total += _access_cost(op, analysis, tile.lanes, vector_bytes)
    for argument, dims in zip(body.arguments, maps):
        if list(argument.uses):
            size = element_bytes(argument.type) or 1
            total += cost_of_steps(buffer_order(shape, tile, dims), size, vector_bytes, is_store=False)
    everything = range(len(shape))
    for value in list(body.operations)[-1].operands:
        size = element_bytes(value.type) or 1
        direct = cost_of_steps(buffer_order(shape, tile, everything), size, vector_bytes, is_store=True)
        later = _TRANSPOSED * max(1.0, tile.lanes * size / vector_bytes)
        total += direct if is_copy(body) else min(direct, later)
    return total / math.prod(lanes)


def _access_cost(op: Operation, analysis: LaneAnalysis, count: int, vector_bytes: int) -> float:
    operands = list(op.operands)
    element = op.results[0].type if len(op.results) else operands.pop(0).type
    size = element_bytes(element)
    if size is None:
        return 4.0 * count
    if op.name.startswith("llvm."):
        steps = pointer_steps(analysis[operands[0]], size)
    else:
        steps = buffer_steps(operands[0].type, [analysis[v] for v in operands[1:]], count)
    return 2.0 * count if steps is None else cost_of_steps(steps, size, vector_bytes, is_store=not len(op.results))


def cost_of_steps(steps: Sequence[int], size: int, vector_bytes: int, *, is_store: bool) -> float:
    """What an access of these lanes costs."""
    count = len(steps)
    if not any(steps):
        return 0.5
    span = max(steps) - min(steps) + 1
    registers = max(1.0, count * size / vector_bytes)
    if list(steps) == list(range(count)):
        return registers
    runs = runs_of(steps)
    if runs is not None:
        return len(runs) + 3 * registers
    # A load may read what lies between its elements; a store may not write it.
    shuffled = span <= 4 * count and (not is_store or sorted(steps) == list(range(min(steps), max(steps) + 1)))
    return 2 * registers * span / count if shuffled else 2.0 * count


def buffer_order(shape: Sequence[int], tile: tiles.VectorTile, dims: Sequence[int]) -> list[int]:
    """The steps of the lanes in a buffer that these dimensions index."""
    steps = [0] * tile.lanes
    for position, dim in enumerate(dims):
        stride = math.prod(shape[d] for d in dims[position + 1 :])
        steps = [s + stride * step for s, step in zip(steps, tile.steps(dim))]
    return steps
