"""The kernels of TLE that the fuzzer draws: a few statements of one family, mixed with the others and with Triton's."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.fuzz import operations_control, programs
from tests.fuzz.building import Builder
from tests.fuzz.cases import Case
from tests.fuzz.tle import (
    operations_buffers,
    operations_copies,
    operations_lite,
    operations_pointers,
    operations_products,
)
from tests.fuzz.tle.building import TleBuilder

FAMILIES = {
    "buffers": operations_buffers.OPERATIONS,
    "pointers": operations_pointers.OPERATIONS,
    "copies": operations_copies.OPERATIONS,
    "lite": operations_lite.OPERATIONS,
    "products": operations_products.OPERATIONS,
}
SHARES = {"buffers": 0.25, "pointers": 0.25, "copies": 0.2, "lite": 0.2, "products": 0.1}
INSIDE = (*operations_buffers.INSIDE, *operations_pointers.INSIDE, *operations_copies.INSIDE, *operations_lite.INSIDE)
STATEMENTS = 6


def in_loop(b: TleBuilder) -> object:
    return operations_control.for_loop(b, INSIDE)


def in_condition(b: TleBuilder) -> object:
    return operations_control.condition(b, INSIDE)


def plain_statement(b: Builder) -> object:
    return b.choice(programs.SIMPLE)(b)


@st.composite
def cases(draw: st.DrawFn, family: str) -> Case:
    b = TleBuilder(draw)
    others = [*FAMILIES.values(), (in_loop, in_condition), (plain_statement,)]
    b.choice(FAMILIES[family])(b)
    for _ in range(b.integer(0, STATEMENTS - 1)):
        b.choice(FAMILIES[family] if b.integer(0, 2) else b.choice(others))(b)
    return b.case()
