"""Lists of arrays: the item at an index that may be known at run time only is chosen from all of them."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.adapters.cutile.arguments import ArrayList
from tle_raw.adapters.cutile.ir_types import Operation, Variable
from tle_raw.adapters.cutile.traced.tracer import Tracer, operation
from tle_raw.adapters.cutile.traced.values import cast, choose, constant


@operation("make_list_view")
def make_list(tracer: Tracer, op: Operation) -> Any:
    return tracer.value(op.base_ptr)


@operation("get_array_list_item")
def item(tracer: Tracer, op: Operation) -> tuple[core.tensor, ...]:
    found = tracer.value(op.x)
    assert isinstance(found, ArrayList)
    index = cast(tracer, tracer.value(op.index), core.int32)
    return tuple(
        _choose(tracer, index, [_typed(tracer, array[part], variable) for array in found.items])
        for part, variable in enumerate(op.result_vars)
    )


def _typed(tracer: Tracer, value: Any, variable: Variable) -> core.tensor:
    type_ = tracer.type_of(variable)
    if isinstance(value, int):
        return constant(tracer, value, type_)
    return value if type_.is_ptr() else cast(tracer, value, type_)


def _choose(tracer: Tracer, index: core.tensor, values: list[core.tensor]) -> core.tensor:
    """Beyond the end it is the last one, whose sizes are its own."""
    made = values[-1]
    for number in reversed(range(len(values) - 1)):
        here = tracer.make("create_icmpEQ", core.int1, index, constant(tracer, number, core.int32))
        made = choose(tracer, here, values[number], made)
    return made
