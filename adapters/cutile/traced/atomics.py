"""Atomic operations."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.traced.accesses import ORDERS, SCOPES
from tle_raw.adapters.cutile.traced.tracer import Tracer, operation
from tle_raw.adapters.cutile.traced.types import bits_of
from tle_raw.adapters.cutile.traced.values import choose, constant, reshape, spread, without_unit_axes
from tle_raw.adapters.cutile.traced.views import elements
from tle_raw.regions.shapes import shape_of

_MODES = {
    "BITWISE_AND": "and",
    "BITWISE_OR": "or",
    "BITWISE_XOR": "xor",
    "ADD_INT": "add",
    "ADD_FLOAT": "add",
    "MAX_SIGNED_INT": "max",
    "MIN_SIGNED_INT": "min",
    "MAX_UNSIGNED_INT": "max",
    "MIN_UNSIGNED_INT": "min",
    "EXCHANGE": "xchg",
}


@operation("tile_atomic_rmw")
def update(tracer: Tracer, op: Operation) -> core.tensor:
    mask = None if op.mask is None else tracer.value(op.mask)
    return _update(tracer, op, tracer.value(op.pointer), tracer.value(op.update), mask)


@operation("tile_atomic_red_view")
def update_view(tracer: Tracer, op: Operation) -> None:
    """Without a result, on the elements of a tile that lie inside the array."""
    view, index = tracer.value(op.view), [tracer.value(v) for v in op.index]
    value = without_unit_axes(tracer, tracer.value(op.update))
    pointers, inside = elements(tracer, view, index, shape_of(value))
    _update(tracer, op, pointers, value, inside)


def _update(tracer: Tracer, op: Operation, pointers: Any, value: core.tensor, mask: core.tensor | None) -> core.tensor:
    atomic = getattr(tracer.semantic, f"atomic_{_MODES[op.mode.name]}")
    return atomic(pointers, value, mask, ORDERS[op.memory_order.name], SCOPES[op.memory_scope.name])


@operation("tile_atomic_cas")
def compare_and_swap(tracer: Tracer, op: Operation) -> core.tensor:
    """Bits are compared. What is masked out gives the expected value."""
    expected, desired = tracer.value(op.expected), tracer.value(op.desired)
    element = expected.type.scalar
    bits = bits_of(element.primitive_bitwidth, signed=True)
    pointers = tracer.value(op.pointer)
    pointers = tracer.semantic.cast(pointers, core.pointer_type(bits))
    expected, desired = (tracer.semantic.bitcast(v, bits) for v in (expected, desired))
    if op.mask is None:
        found = _swap(tracer, op, pointers, expected, desired)
    else:
        found = _masked_swap(tracer, op, pointers, expected, desired, tracer.value(op.mask))
    return tracer.semantic.bitcast(found, element)


def _swap(
    tracer: Tracer, op: Operation, pointers: core.tensor, expected: core.tensor, desired: core.tensor
) -> core.tensor:
    order, scope = ORDERS[op.memory_order.name], SCOPES[op.memory_scope.name]
    return tracer.semantic.atomic_cas(pointers, expected, desired, order, scope)


def _masked_swap(
    tracer: Tracer, op: Operation, pointers: core.tensor, expected: core.tensor, desired: core.tensor, mask: core.tensor
) -> core.tensor:
    """Triton's swap has no mask. Lanes that are masked out swap a value for itself where one of the others swaps;
    where all are masked out nothing is done.
    """
    shape = shape_of(pointers)
    if not shape:
        return tracer.flow.branch(
            tracer, mask, lambda: [_swap(tracer, op, pointers, expected, desired)], lambda: [expected]
        )[0]
    addresses = tracer.semantic.cast(pointers, core.int64)
    wanted = choose(tracer, mask, addresses, constant(tracer, 0, addresses.type))
    highest = _highest(tracer, wanted)

    def swap() -> list[core.tensor]:
        safe = tracer.semantic.cast(highest, pointers.type.scalar)
        targets = choose(tracer, mask, pointers, spread(tracer, safe, shape))
        found = _swap(tracer, op, targets, expected, choose(tracer, mask, desired, expected))
        return [choose(tracer, mask, found, expected)]

    some = tracer.make("create_icmpNE", core.int1, highest, constant(tracer, 0, core.int64))
    return tracer.flow.branch(tracer, some, swap, lambda: [expected])[0]


def _highest(tracer: Tracer, values: core.tensor) -> core.tensor:
    """Of all elements; addresses of memory are positive."""
    size = 1
    for extent in shape_of(values):
        size *= extent
    flat = reshape(tracer, values, (size,))

    def larger(left: list[core.tensor], right: list[core.tensor]) -> list[core.tensor]:
        return [tracer.make("create_maxsi", core.int64, left[0], right[0])]

    return tracer.flow.reduce(tracer, [flat], 0, larger)[0]
