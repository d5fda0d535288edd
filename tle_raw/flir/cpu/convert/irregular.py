"""Operations whose accesses depend on data: gather, histogram; and functions that walk over elements one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tle_raw.flir.cpu.convert import build, tiles, types
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.reduce import evaluate, loops
from tle_raw.flir.cpu.convert.tiles import BufferTile, Constant, Elementwise, Index, ScalarBody, Shared, TileValue
from tle_raw.flir.cpu.convert.told import TOLD
from tle_raw.flir.cpu.mlir_values import Block, Operation, Type, Value


@converts("tt.gather")
def gather(kernel: Kernel, op: Operation) -> None:
    if TOLD in op.attributes:  # of a number, which has no others beside it
        kernel.values[op.results[0]] = kernel.values[op.operands[0]]
        return
    source, indices = kernel.stored(kernel.tile(op.operands[0])), kernel.tile(op.operands[1])
    axis = op.attributes["axis"].value
    result = kernel.allocate(types.shape_of(op.results[0].type), source.element)

    def element(body: ScalarBody, index: Index) -> list[Value]:
        at = build.cast_integer(body.element(indices, index), "index")
        # An index outside of the tile is the kernel's error, but must not read foreign memory.
        at = build.binary("minui", at, build.index(source.shape[axis] - 1))
        return [types.to_memory(body.element(source, (*index[:axis], at, *index[axis + 1 :])))]

    kernel.for_each(result.shape, element, [result])
    kernel.set(op.results[0], result)


@converts("tt.histogram")
def histogram(kernel: Kernel, op: Operation) -> None:
    source, mask = kernel.tile(op.operands[0]), None
    if len(op.operands) > 1:
        mask = kernel.tile(op.operands[1])
    type_ = op.results[0].type
    (bins,), element = types.shape_of(type_), types.element_of(type_)
    counts = kernel.allocate((bins,), element)
    zero = build.attribute(f"0 : {element}")
    kernel.fill(counts, Constant((bins,), element, zero))
    with loops(source.shape) as index:
        body = ScalarBody()
        at = build.cast_integer(body.element(source, tuple(index)), "index", signed=False)
        counted = build.compare("ult", at, build.index(bins))
        if mask is not None:
            counted = build.binary("andi", counted, body.element(mask, tuple(index)))
        with build.when(counted):
            old = build.value("memref.load", [counts.memref, at], element)
            build.create("memref.store", [build.binary("addi", old, build.constant(1, element)), counts.memref, at])
    kernel.set(op.results[0], counts)


@converts("tt.map_elementwise")
def map_elementwise(kernel: Kernel, op: Operation) -> None:
    pack = op.attributes["pack"].value
    block = op.regions[0].blocks[0]
    sources = [kernel.tile(o) for o in op.operands]
    if pack == 1:
        compute = partial(_apply, kernel, block)
        whole = Elementwise(sources[0].shape, sources[0].element, sources, compute)
        for number, result in enumerate(op.results):
            kernel.set(result, Shared(whole, number, types.element_of(result.type)))
        return
    elements = [types.element_of(r.type) for r in op.results]
    results = in_packs(kernel, sources, sources[0].shape, elements, pack, partial(evaluate, kernel, block))
    for result, buffer in zip(op.results, results):
        kernel.set(result, buffer)


def in_packs(
    kernel: Kernel,
    sources: Sequence[TileValue],
    shape: Sequence[int],
    elements: Sequence[Type],
    pack: int,
    compute: Callable[[Sequence[Any]], Sequence[Any]],
) -> list[BufferTile]:
    """Tiles of these element types, by a function of so many elements that lie beside each other.

    ``compute`` takes the pack of each source, one behind the other, and returns the packs of the results. A row of
    fewer elements is one pack, in which they come again.
    """
    *outer, last = shape
    results = [kernel.allocate(shape, element) for element in elements]
    with loops((*outer, max(1, last // pack))) as index:
        body = ScalarBody()
        start = tiles.multiply(index[-1], pack)
        at = [(*index[:-1], tiles.add(start, n % last)) for n in range(pack)]
        values = compute([body.element(source, i) for source in sources for i in at])
        for number, value in enumerate(values):
            if number % pack < last:
                results[number // pack].store(types.to_memory(value), at[number % pack])
    return results


def _apply(kernel: Kernel, block: Block, *values: Any) -> list[Any]:
    return evaluate(kernel, block, values)
