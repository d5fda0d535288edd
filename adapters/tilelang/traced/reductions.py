"""``T.reduce_*``, ``T.cumsum`` and ``T.cummax``."""

from __future__ import annotations

from math import prod

from triton.language import core

from tle_raw.adapters.tilelang.regions import BufferRegion, constant, region_of
from tle_raw.adapters.tilelang.tir_types import Call
from tle_raw.adapters.tilelang.traced import boxes
from tle_raw.adapters.tilelang.traced.combined import combine, reduced, scanned
from tle_raw.adapters.tilelang.traced.functions import absolute, function
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.adapters.tilelang.traced.types import padded

_COMBINED = {"abssum": "sum", "absmax": "max"}


def reduce(tracer: Tracer, call: Call) -> None:
    """Along one dim, in the dtype of the result; ``clear=False`` combines with what is there."""
    source, target = region_of(call.args[0]), region_of(call.args[1])
    kind, dim = str(call.args[2].value), int(constant(call.args[3]) or 0)
    extents = boxes.sizes(tracer, source)
    value = tracer.cast(boxes.read(tracer, source), tracer.dtype(target.buffer.dtype))
    if kind.startswith("abs"):
        value = absolute(tracer, value)
    kind = _COMBINED.get(kind, kind)
    if kind not in ("sum", "max", "min", "bitand", "bitor", "bitxor"):
        raise tracer.fail(f"a reduction of the kind {kind!r}")
    value = boxes.mask_padding(tracer, value, extents, [dim], neutral(kind, value.type.scalar))
    made = reduced(tracer, value, dim, kind)
    shape = [padded(e) for e in boxes.sizes(tracer, target)]
    made = tracer.reshape(made, shape)
    if not constant(call.args[4]):
        made = combine(tracer, kind, boxes.read(tracer, target), made)
    boxes.write(tracer, target, made)


def neutral(kind: str, dtype: core.dtype) -> int | float:
    """What changes nothing when it is combined."""
    if kind in ("sum", "bitor", "bitxor"):
        return 0
    if kind == "bitand":
        return -1 if dtype.is_int_signed() else (1 << dtype.primitive_bitwidth) - 1
    if dtype.is_floating():
        return float("-inf") if kind == "max" else float("inf")
    signed, bits = dtype.is_int_signed(), dtype.primitive_bitwidth
    lowest, highest = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return lowest if kind == "max" else highest


@function("tl.any_of")
def any_of(tracer: Tracer, call: Call) -> core.tensor:
    """Whether an element of a buffer, or of a row of one, is not zero."""
    return _of_all(tracer, call, "bitor")


@function("tl.all_of")
def all_of(tracer: Tracer, call: Call) -> core.tensor:
    """Whether none of them is zero."""
    return _of_all(tracer, call, "bitand")


def _of_all(tracer: Tracer, call: Call, kind: str) -> core.tensor:
    element, count = call.args[0].args[0], tracer.size(call.args[1], "the row")
    shape = [tracer.size(extent, f"`{element.buffer.name}`") for extent in element.buffer.shape]
    whole = count == prod(shape) and all(constant(tracer.simplify(index)) == 0 for index in element.indices)
    extents = shape if whole else [*(1 for _ in shape[1:]), count]
    box = BufferRegion(element.buffer, tuple(element.indices), tuple(extents))
    value = boxes.read(tracer, box)
    value = tracer.cast(tracer.semantic.not_equal(value, tracer.number(0, value.type.scalar)), core.int8)
    value = boxes.mask_padding(tracer, value, extents, range(len(extents)), 0 if kind == "bitor" else 1)
    for _ in extents:
        value = reduced(tracer, value, 0, kind)
    return tracer.semantic.not_equal(value, tracer.number(0, core.int8))


def cumulative_sum(tracer: Tracer, call: Call) -> None:
    _scan(tracer, call, "sum")


def cumulative_max(tracer: Tracer, call: Call) -> None:
    _scan(tracer, call, "max")


def _scan(tracer: Tracer, call: Call, kind: str) -> None:
    source, target = region_of(call.args[0]), region_of(call.args[1])
    dim, reverse = int(constant(call.args[2]) or 0), bool(constant(call.args[3]))
    extents = boxes.sizes(tracer, source)
    value = tracer.cast(boxes.read(tracer, source), tracer.dtype(target.buffer.dtype))
    value = boxes.mask_padding(tracer, value, extents, [dim], neutral(kind, value.type.scalar))
    boxes.write(tracer, target, scanned(tracer, value, dim, kind, reverse))
