"""What TIR says of memory: ``tl.region`` operands, element accesses, and the index expressions in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.tilelang.program import is_call, variables_of
from tle_raw.adapters.tilelang.tir_types import Buffer, Call, Expression, Node

PARALLEL, VECTORIZED, UNROLLED = 1, 2, 3  # ForKind


@dataclass(frozen=True)
class BufferRegion:
    """A box of a buffer: where it starts and how far it goes along each dim."""

    buffer: Buffer
    origin: tuple[Any, ...]
    extents: tuple[Any, ...]


def region_of(call: Call) -> BufferRegion:
    """The operand of a tile operation."""
    load = call.args[0]
    return BufferRegion(load.buffer, tuple(load.indices), tuple(call.args[2:]))


def is_region(expression: Expression) -> bool:
    return is_call(expression, "tl.region")


def is_global(buffer: Buffer) -> bool:
    return str(buffer.scope()) in ("global", "")


def nearness(buffer: Buffer) -> int:
    """Of a buffer's memory to the registers: 0 is global memory, 1 shared memory."""
    scope = str(buffer.scope())
    return 2 if scope.startswith("local") else 1 if scope.startswith("shared") else 0


def constant(expression: Expression | int) -> int | None:
    """The integer that an expression is, or None."""
    if isinstance(expression, int):
        return expression
    return int(expression.value) if type(expression).__name__ == "IntImm" else None


def uses(expression: Expression, variables: Sequence[Any]) -> bool:
    found = variables_of(expression)
    return any(v.same_as(w) for v in found for w in variables)


def linear_form(expression: Expression, variables: Sequence[Any]) -> tuple[dict[Any, Any], Any] | None:
    """``expression`` as factors of ``variables`` plus a rest that holds none of them; None where it is no such sum."""
    from tvm import arith

    if isinstance(expression, int):
        return {}, expression
    used = [v for v in variables if uses(expression, [v])]
    if not used:
        return {}, expression
    parts = arith.detect_linear_equation(expression, used)
    if not parts:
        return None
    return dict(zip(used, parts[:-1])), parts[-1]


def nest_of(loop: Node) -> Iterator[Any]:
    """The parallel loops that begin with this one, as far as they are perfectly nested."""
    while type(loop).__name__ == "For" and is_parallel(loop):
        yield loop
        loop = loop.body


def is_parallel(loop: Node) -> bool:
    return int(loop.kind) in (PARALLEL, VECTORIZED) and loop.thread_binding is None


def strides_of(buffer: Buffer) -> list[Any]:
    """A buffer's strides in elements, integers or expressions; row-major where the buffer states none."""
    if len(buffer.strides):
        return list(buffer.strides)
    found: list[Any] = [1]
    for extent in reversed(list(buffer.shape)[1:]):
        found.insert(0, extent * found[0])
    return found
