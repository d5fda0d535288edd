"""Gather and scatter: loads and stores at addresses that are computed element by element."""

from __future__ import annotations

from triton.language import core

from tle_raw.adapters.cutile.ir_types import Operation, Variable
from tle_raw.adapters.cutile.traced import accesses, descriptors
from tle_raw.adapters.cutile.traced.tracer import Tracer, operation


@operation("pointer_offset")
def move(tracer: Tracer, op: Operation) -> core.tensor:
    pointer, offset = tracer.value(op.pointer), tracer.value(op.offset)
    if not isinstance(pointer, core.tensor):
        raise descriptors.refuse(tracer)
    return tracer.make("create_addptr", pointer.type, pointer, offset)


@operation("load_pointer")
def load(tracer: Tracer, op: Operation) -> core.tensor:
    return accesses.load(
        tracer, tracer.value(op.pointer), _optional(tracer, op.mask), _optional(tracer, op.padding_value)
    )


@operation("store_pointer")
def store(tracer: Tracer, op: Operation) -> None:
    accesses.store(tracer, tracer.value(op.pointer), tracer.value(op.value), _optional(tracer, op.mask))


@operation("foreign_pointer_cast")
def cast_foreign(tracer: Tracer, op: Operation) -> core.tensor:
    """To a pointer of foreign code and back: it is the same address."""
    pointer = tracer.value(op.pointer)
    if not isinstance(pointer, core.tensor):
        raise descriptors.refuse(tracer)
    return pointer


def _optional(tracer: Tracer, variable: Variable) -> core.tensor | None:
    return None if variable is None else tracer.value(variable)
