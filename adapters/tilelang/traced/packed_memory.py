"""Global memory that holds two elements of four bits in a byte: whole bytes are read and written where it can be.

A loop over neighbours reads each byte once, and its halves are put side by side; a store needs such a loop, because
two lanes that write the halves of one byte would take each other's away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.regions import constant, strides_of
from tle_raw.adapters.tilelang.tir_types import Buffer
from tle_raw.adapters.tilelang.traced import global_memory
from tle_raw.adapters.tilelang.traced.tracer import ParallelAxes, Tracer
from tle_raw.regions.shapes import shape_of


def load(tracer: Tracer, buffer: Buffer, indices: Sequence[Any]) -> core.tensor:
    """The codes of the elements in each lane."""
    if buffer.data in tracer.safe:
        raise tracer.fail(f"T.annotate_safe_value of `{buffer.name}`, whose elements are of four bits")
    *outer, last = [tracer.simplify(i) for i in indices]
    axis = _walks(tracer, buffer, [*outer, last])
    if axis is not None:
        with _by_bytes(tracer, axis, last) as at:
            value = global_memory.load(tracer, _bytes(tracer, buffer), [*outer, at])
        return _side_by_side(tracer, value, axis)
    value = global_memory.load(tracer, _bytes(tracer, buffer), [*outer, tracer.simplify(last // 2)])
    high = tracer.cast(tracer.integer(last % 2), core.int32)
    shift = tracer.semantic.mul(high, tracer.number(4, core.int32), False)
    found = tracer.semantic.lshr(tracer.cast(value, core.int32), shift)
    return tracer.cast(tracer.semantic.and_(found, tracer.number(15, core.int32)), core.uint8)


def store(tracer: Tracer, buffer: Buffer, indices: Sequence[Any], value: core.tensor) -> None:
    """Write the codes ``value`` in each lane."""
    *outer, last = [tracer.simplify(i) for i in indices]
    axis = _walks(tracer, buffer, [*outer, last])
    if axis is None or tracer.guard() is not None:
        raise tracer.fail(
            f"one half of a byte of `{buffer.name}` is written alone",
            hint="write elements of four bits by T.copy, or along the innermost loop of a T.Parallel",
        )
    rank = len(tracer.lanes.extents)
    value = value if shape_of(value) else tracer.reshape(value, [1] * rank)
    value = tracer.spread(value, tracer.lanes.shape)
    shape = list(shape_of(value))
    pairs = [*shape[:axis], shape[axis] // 2, 2, *shape[axis + 1 :]]
    value = tracer.semantic.reshape(value, pairs, False)
    value = tracer.permute(value, [d for d in range(rank + 1) if d != axis + 1] + [axis + 1])
    low, high = tracer.semantic.split(value)
    high = tracer.semantic.shl(high, tracer.number(4, core.uint8))
    with _by_bytes(tracer, axis, last) as at:
        global_memory.store(tracer, _bytes(tracer, buffer), [*outer, at], tracer.semantic.or_(low, high))


def _walks(tracer: Tracer, buffer: Buffer, indices: Sequence[Any]) -> int | None:
    """The lanes' axis along which neighbours of whole bytes stand; None where there is none."""
    forms = [tracer.form(index) for index in indices]
    *outer, last = forms
    if last is None or None in outer or tracer.guard() is not None or len(last[0]) != 1:
        return None
    ((variable, factor),) = last[0].items()
    axis = tracer.lanes.axis(variable)
    if axis is None or constant(factor) != 1 or any(variable in form[0] for form in outer if form is not None):
        return None
    whole = tracer.lanes.extents[axis] % 2 == 0 and tracer.proves(tracer.simplify(last[1]) % 2 == 0)
    return axis if whole else None


@contextmanager
def _by_bytes(tracer: Tracer, axis: int, last: Any) -> Iterator[Any]:
    """The same lanes with half as many along an axis; gives the number of the byte along the last dim."""
    from tvm.tirx import Var

    before = tracer.lanes
    form = tracer.form(last)
    assert form is not None
    variable = Var("at_byte", "int32")
    variables, extents = list(before.variables), list(before.extents)
    variables[axis], extents[axis] = variable, extents[axis] // 2
    at = tracer.simplify(form[1] // 2) + variable
    tracer.lanes = ParallelAxes(tuple(variables), tuple(extents))
    tracer.bind_range(variable, 0, extents[axis])
    try:
        yield at
    finally:
        tracer.lanes = before


def _side_by_side(tracer: Tracer, value: core.tensor, axis: int) -> core.tensor:
    """The two halves of each byte, one behind the other along an axis."""
    semantic, shape = tracer.semantic, list(shape_of(value))
    low = semantic.and_(value, tracer.number(15, core.uint8))
    joined = semantic.join(low, semantic.lshr(value, tracer.number(4, core.uint8)))
    rank = len(shape)
    joined = tracer.permute(joined, [*range(axis + 1), rank, *range(axis + 1, rank)])
    return semantic.reshape(joined, [*shape[:axis], 2 * shape[axis], *shape[axis + 1 :]], False)


def _bytes(tracer: Tracer, buffer: Buffer) -> Any:
    """The buffer of the bytes that hold a buffer's elements."""
    from tvm.tirx import decl_buffer

    *outer, last = strides_of(buffer)
    size = tracer.simplify(buffer.shape[-1])
    if constant(tracer.simplify(last)) != 1 or not tracer.proves(size % 2 == 0):
        raise tracer.fail(f"`{buffer.name}`, whose elements of four bits do not fill bytes along the last dim")
    shape = [*list(buffer.shape)[:-1], tracer.simplify(size // 2)]
    strides = [tracer.simplify(stride // 2) for stride in outer]
    return decl_buffer(shape, "uint8", str(buffer.name), data=buffer.data, strides=[*strides, 1])
