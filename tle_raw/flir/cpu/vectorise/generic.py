"""One ``linalg.generic`` becomes loops over vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.vectorise import build
from tle_raw.flir.cpu.vectorise.analysis import LaneAnalysis
from tle_raw.flir.cpu.vectorise.body import VectorBody
from tle_raw.flir.cpu.vectorise.choose import choose_lanes
from tle_raw.flir.cpu.vectorise.memory import Memory
from tle_raw.flir.cpu.vectorise.operations import static_strides, walk
from tle_raw.flir.cpu.vectorise.scopes import make_loops
from tle_raw.flir.cpu.vectorise.tiles import VectorTile, split

# Fewer chunks than these are written out: LLVM then keeps small buffers in registers from one generic to the next.
_UNROLLED_CHUNKS = 2


def vectorise_generic(generic: Any, memory: Memory, vector_bytes: int) -> bool:
    """Replace a generic by loops over vectors; False if it has to stay."""
    maps = _dimensions_of_operands(generic)
    if maps is None or not _is_supported(generic, maps):
        return False
    shape = _shape(generic, maps)
    if shape is None or math.prod(shape) <= 1:
        return False
    body = generic.regions[0].blocks[0]
    _move_indices_to_top(body)
    lanes = choose_lanes(body, shape, vector_bytes)
    if math.prod(lanes) == 1:
        return False
    for tile in split(shape, lanes, _UNROLLED_CHUNKS):
        _write(generic, maps, tile, memory)
    generic.erase()
    return True


def _dimensions_of_operands(generic: Any) -> list[list[int]] | None:
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


def _is_supported(generic: Any, maps: Sequence[Sequence[int]]) -> bool:
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


def _shape(generic: Any, maps: Sequence[Sequence[int]]) -> list[int] | None:
    ir = mlir()
    sizes: dict[int, int] = {}
    for operand, positions in zip(generic.operands, maps):
        for position, size in zip(positions, ir.ShapedType(operand.type).shape):
            if size < 0:
                return None
            sizes[position] = size
    dims = len(list(generic.attributes["iterator_types"]))
    return [sizes[d] for d in range(dims)] if len(sizes) == dims else None


def _move_indices_to_top(body: Any) -> None:
    """Loops inside of the body then use an index as any other value."""
    inner = [op for view in body.operations for op in walk(view.operation) if op.name == "linalg.index"]
    for op in inner:
        op.move_before(body.operations[0])


def _write(generic: Any, maps: Sequence[Sequence[int]], tile: VectorTile, memory: Memory) -> None:
    block = generic.regions[0].blocks[0]
    terminator = list(block.operations)[-1].operation
    outputs = list(generic.operands)[len(maps) - len(terminator.operands) :]
    with generic.location:
        analysis = LaneAnalysis(block, tile)
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
