"""``T.gemm``: a product that Triton gives to the tensor cores."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.regions import constant, region_of
from tle_raw.adapters.tilelang.tir_types import Call
from tle_raw.adapters.tilelang.traced import boxes
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.adapters.tilelang.traced.types import padded
from tle_raw.regions.shapes import shape_of

A, B, C, TURN_A, TURN_B, CLEAR = 0, 1, 2, 3, 4, 9  # the operands of tl.tileop.gemm
SMALLEST_DEPTH = {8: 32, 16: 16, 32: 16, 64: 16}  # by the width of the elements


def gemm(tracer: Tracer, call: Call) -> None:
    """``C += A @ B``, either of them turned; ``clear_accum`` starts from zero."""
    if len(call.args) > 10 and type(call.args[10]).__name__ not in ("IntImm", "int"):
        raise tracer.fail("a gemm that signals an mbarrier")
    if tracer.specialised is not None:
        tracer.specialised.multiply(call)
        return
    a = _operand(tracer, call.args[A], bool(constant(call.args[TURN_A])), depth=1)
    b = _operand(tracer, call.args[B], bool(constant(call.args[TURN_B])), depth=0)
    target = region_of(call.args[C])
    dtype = tracer.dtype(target.buffer.dtype)
    rows, columns = shape_of(a)[0], shape_of(b)[1]
    total = _accumulator(tracer, call.args[CLEAR], target, (rows, columns), dtype)
    made = core.dot(a, b, acc=total, out_dtype=dtype, _semantic=tracer.semantic)
    boxes.write(tracer, target, made)


def _operand(tracer: Tracer, argument: Any, turned: bool, depth: int) -> core.tensor:
    """A matrix, with zeros where its depth is padded: what stands there meets the other's padding in the product."""
    box = region_of(argument)
    extents = boxes.sizes(tracer, box)
    value = boxes.read(tracer, box)
    extents = extents[-2:]
    value = tracer.reshape(value, [padded(e) for e in extents])
    if turned:
        value, extents = tracer.permute(value, (1, 0)), extents[::-1]
    value = boxes.mask_padding(tracer, value, extents, [depth], 0)
    return _deep_enough(tracer, value, depth)


def _deep_enough(tracer: Tracer, value: core.tensor, depth: int) -> core.tensor:
    """Tensor cores take so many products at a time: a shallower matrix is joined with zeros."""
    least = SMALLEST_DEPTH[value.type.scalar.primitive_bitwidth]
    while shape_of(value)[depth] < least:
        shape = shape_of(value)
        joined = tracer.semantic.join(value, tracer.full(shape, 0, value.type.scalar))
        order = (0, 2, 1) if depth == 1 else (2, 0, 1)
        wide = [shape[0], 2 * shape[1]] if depth == 1 else [2 * shape[0], shape[1]]
        value = tracer.semantic.reshape(tracer.permute(joined, order), wide, False)
    return value


def _accumulator(tracer: Tracer, clear: Any, target: Any, shape: tuple[int, int], dtype: Any) -> core.tensor:
    zeros = tracer.full(shape, 0, dtype)
    known = constant(tracer.simplify(clear))
    if known:
        return zeros
    total = tracer.reshape(boxes.read(tracer, target), shape)
    if known is None:
        return tracer.choose(tracer.spread(tracer.evaluate(clear), shape), zeros, total)
    return total
