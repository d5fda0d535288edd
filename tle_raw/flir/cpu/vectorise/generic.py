"""One ``linalg.generic`` becomes loops over vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.mlir_values import Block, Operation
from tle_raw.flir.cpu.vectorise import build
from tle_raw.flir.cpu.vectorise.analysis import LaneAnalysis
from tle_raw.flir.cpu.vectorise.assumptions import Assumption, assumptions_hold, find_assumptions
from tle_raw.flir.cpu.vectorise.body import VectorBody
from tle_raw.flir.cpu.vectorise.choose import choose_lanes
from tle_raw.flir.cpu.vectorise.memory import Memory
from tle_raw.flir.cpu.vectorise.operations import DIVISIONS, is_elementwise, static_strides, walk
from tle_raw.flir.cpu.vectorise.scopes import make_loops
from tle_raw.flir.cpu.vectorise.tiles import VectorTile, across_rows, covering, split
from tle_raw.flir.cpu.vectorise.transposition import keep_as_read, transposed_dimension

# Fewer chunks than these are written out: LLVM then keeps small buffers in registers from one generic to the next.
_UNROLLED_CHUNKS = 2
_PROBED_LANES = 64


def vectorise_generic(generic: Operation, memory: Memory, vector_bytes: int) -> bool:
    """Replace a generic by loops over vectors; False if it has to stay."""
    maps = _dimensions_of_operands(generic)
    if maps is None or not _is_supported(generic, maps):
        return False
    shape = _shape(generic, maps)
    if shape is None or math.prod(shape) <= 1:
        return False
    body = generic.regions[0].blocks[0]
    _move_indices_to_top(body)
    _move_constant_parts_out(generic, body)
    target = _Target(maps, shape, memory, vector_bytes)
    assumptions = _useful_assumptions(body, target)
    if assumptions:
        _write_both(generic, target, assumptions)
    else:
        _write(generic, target, ())
    return True


@dataclass(frozen=True)
class _Target:
    """What all forms of one generic share."""

    maps: Sequence[Sequence[int]]
    shape: Sequence[int]
    memory: Memory
    vector_bytes: int


def _useful_assumptions(body: Block, target: _Target) -> list[Assumption]:
    """The assumptions that matter for the lanes that would be chosen under all of them."""
    shape = target.shape
    rows = covering(shape, across_rows(shape, _PROBED_LANES))
    found = find_assumptions(body, LaneAnalysis(body, rows))
    if not found:
        return []
    lanes = choose_lanes(body, target.maps, shape, target.vector_bytes, found)
    return find_assumptions(body, LaneAnalysis(body, covering(shape, lanes)))


def _write_both(generic: Operation, target: _Target, assumptions: Sequence[Assumption]) -> None:
    """One form under the assumptions, one for the rest."""
    from torch_mlir.dialects import scf

    ir = mlir()
    with generic.location, ir.InsertionPoint(generic):
        branch = scf.IfOp(assumptions_hold(assumptions), has_else=True)
    with generic.location, ir.InsertionPoint(branch.else_block):
        other = generic.clone()
        scf.YieldOp([])
    with generic.location, ir.InsertionPoint(branch.then_block):
        end = scf.YieldOp([])
    generic.move_before(end.operation)
    _write(generic, target, assumptions)
    _write(other, target, ())


def _dimensions_of_operands(generic: Operation) -> list[list[int]] | None:
    """For each operand the dimensions that index it; None if one is indexed by anything else."""
    ir = mlir()
    result = []
    for attribute in generic.attributes["indexing_maps"]:
        positions = []
        for expression in attribute.value.results:
            if not isinstance(expression, ir.AffineDimExpr):
                return None
            positions.append(expression.position)
        result.append(positions)
    return result


def _is_supported(generic: Operation, maps: Sequence[Sequence[int]]) -> bool:
    ir = mlir()
    if any("parallel" not in str(kind) for kind in generic.attributes["iterator_types"]):
        return False
    body = generic.regions[0].blocks[0]
    outputs = len(list(body.operations)[-1].operands)
    for number, (operand, argument) in enumerate(zip(generic.operands, body.arguments)):
        is_output = number >= len(maps) - outputs
        if not isinstance(operand.type, ir.MemRefType):
            return False
        reachable = static_strides(operand.type) is not None and build.element_bytes(argument.type) is not None
        if not reachable and (is_output or list(argument.uses)):
            return False
    results = [r.type for view in body.operations for op in [view.operation, *walk(view.operation)] for r in op.results]
    return all(build.fits_vectors(result) for result in results)


def _shape(generic: Operation, maps: Sequence[Sequence[int]]) -> list[int] | None:
    ir = mlir()
    sizes: dict[int, int] = {}
    for operand, positions in zip(generic.operands, maps):
        for position, size in zip(positions, ir.ShapedType(operand.type).shape):
            if size < 0:
                return None
            sizes[position] = size
    dims = len(list(generic.attributes["iterator_types"]))
    return [sizes[d] for d in range(dims)] if len(sizes) == dims else None


def _move_indices_to_top(body: Block) -> None:
    """Loops inside of the body then use an index as any other value."""
    inner = [op for view in body.operations for op in walk(view.operation) if op.name == "linalg.index"]
    for op in inner:
        op.move_before(body.operations[0])


def _move_constant_parts_out(generic: Operation, body: Block) -> None:
    """What the iterations have in common is computed once, and known to everybody."""
    outside: set[Any] = set()
    inside = {result for view in body.operations for result in view.operation.results} | set(body.arguments)
    for view in list(body.operations)[:-1]:
        op = view.operation
        # A division might trap where the body would not run.
        movable = is_elementwise(op) and not op.regions and op.name not in DIVISIONS
        if movable and all(v in outside or v not in inside for v in op.operands):
            op.move_before(generic)
            outside.update(op.results)


def _write(generic: Operation, target: _Target, assumptions: Sequence[Assumption]) -> None:
    body = generic.regions[0].blocks[0]
    lanes = choose_lanes(body, target.maps, target.shape, target.vector_bytes, assumptions)
    maps, copies = target.maps, []
    dim = transposed_dimension(generic, target.shape, lanes)
    if dim is not None:
        maps, copies = keep_as_read(generic, maps, target.shape, dim)
    for tile in split(target.shape, lanes, _UNROLLED_CHUNKS):
        _write_tile(generic, maps, tile, target.memory, assumptions)
    generic.erase()
    for copy in copies:
        vectorise_generic(copy, target.memory, target.vector_bytes)


def _write_tile(
    generic: Operation,
    maps: Sequence[Sequence[int]],
    tile: VectorTile,
    memory: Memory,
    assumptions: Sequence[Assumption],
) -> None:
    block = generic.regions[0].blocks[0]
    terminator = list(block.operations)[-1].operation
    outputs = list(generic.operands)[len(maps) - len(terminator.operands) :]
    with generic.location:
        analysis = LaneAnalysis(block, tile, assumptions)
        nest = make_loops(generic, tile)
        body = VectorBody(analysis, nest, tile.lanes, memory)

        def access(buffer: Any, positions: Sequence[int]) -> Any:
            return memory.buffer_access(buffer, [body.index(d) for d in positions], tile.lanes)

        for operand, positions, argument in zip(generic.operands, maps, block.arguments):
            if list(argument.uses):
                body.define(argument, body.load(access(operand, positions), argument))
    body.emit(block)
    with generic.location:
        for buffer, positions, value in zip(outputs, maps[len(maps) - len(outputs) :], terminator.operands):
            body.store(access(buffer, positions), body[value])
