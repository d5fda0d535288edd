"""The kernels that the fuzzer draws: a few statements of one family, mixed with some of the others."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.fuzz import (
    operations_control,
    operations_elementwise,
    operations_memory,
    operations_reductions,
    operations_shapes,
)
from tests.fuzz.building import Builder
from tests.fuzz.cases import Case

ELEMENTWISE = operations_elementwise.OPERATIONS
SHAPES = operations_shapes.OPERATIONS
REDUCTIONS = operations_reductions.OPERATIONS
MEMORY = operations_memory.OPERATIONS
SIMPLE = (*ELEMENTWISE, *SHAPES[:7], *REDUCTIONS[:4], operations_memory.masked_load)


def nested_loop(b: Builder) -> object:
    return operations_control.for_loop(b, SIMPLE)


def nested_condition(b: Builder) -> object:
    return operations_control.condition(b, SIMPLE)


INSIDE = (*SIMPLE, nested_loop, nested_condition, nested_condition, operations_memory.walking_pointers)
FAMILIES = {
    "elementwise": ELEMENTWISE,
    "casts": (operations_elementwise.cast, operations_elementwise.bitcast, operations_memory.byte_load),
    "shapes": SHAPES,
    "reductions": REDUCTIONS,
    "memory": MEMORY,
    "control": operations_control.OPERATIONS,
}
STATEMENTS = 7


@st.composite
def cases(draw: st.DrawFn, family: str) -> Case:
    b = Builder(draw)
    for _ in range(b.integer(1, STATEMENTS)):
        kind = family if b.integer(0, 2) else b.choice(list(FAMILIES))
        operation = b.choice(FAMILIES[kind])
        if kind == "control":
            operation(b, INSIDE)
        else:
            operation(b)
    return b.case()
