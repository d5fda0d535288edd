"""One region: the call's values in, the function's operations written, its results out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from triton.language import core

from tle_raw.adapters.common.control_flow import flow_of
from tle_raw.adapters.cutile.ir_types import Variable
from tle_raw.adapters.cutile.options import Options
from tle_raw.adapters.cutile.specialise.facts import Facts, Unfit
from tle_raw.adapters.cutile.specialise.plan import find_plan
from tle_raw.adapters.cutile.traced import operations as _all_operations  # noqa: F401  registers them
from tle_raw.adapters.cutile.traced.control import run_block
from tle_raw.adapters.cutile.traced.order import operations_behind_barriers
from tle_raw.adapters.cutile.traced.specialised import Specialised
from tle_raw.adapters.cutile.traced.tracer import Grid, Tracer
from tle_raw.adapters.cutile.traced.unit_axes import loaded_for_reshape
from tle_raw.adapters.cutile.traced.values import constant
from tle_raw.adapters.cutile.typed_ir import TypedFunction
from tle_raw.errors import SourceLocation, TLEError
from tle_raw.regions.notes import note
from tle_raw.regions.structure import offered
from tle_raw.triton_types import Semantic


def trace_region(
    typed: TypedFunction,
    values: Sequence[Any],
    multiples: Mapping[int, int],
    given: Mapping[str, Any],
    options: Options,
    place: SourceLocation,
    semantic: Semantic,
) -> list[Any]:
    """Write the region with Triton's semantic object; what the function returns, as Triton's values.

    ``values`` are those of the flat parameters, ``multiples`` what those that are sizes are multiples of, by their
    number, ``given`` the block ids and numbers that the call passes by name.

    Raises
    ------
    UntraceableError : at the line of what cannot be expressed.
    """
    barriers = operations_behind_barriers(typed.block)
    tracer = Tracer(semantic, flow_of(semantic), barriers=barriers)
    tracer.location, tracer.bare = place, loaded_for_reshape(typed.block)
    try:
        tracer.grid = _grid(tracer, options, given)
        tracer.bind(typed.parameters, [_parameter(tracer, v, x) for v, x in zip(typed.parameters, values)])
        tracer.multiples = {typed.parameters[place].name: n for place, n in multiples.items()}
        if options.planned is not None:
            outputs = _specialised(tracer, typed, options.planned, barriers, given).run(typed.block)
        else:
            if options.unplanned:
                note(f"no warp copies alone: {options.unplanned}")
            outputs = run_block(tracer, typed.block)
        return _results(tracer, typed.result, iter(outputs))
    except TLEError as e:
        e.at(source=tracer.location)
        raise


def _specialised(
    tracer: Tracer, typed: TypedFunction, facts: Facts, barriers: frozenset[int], given: Mapping[str, Any]
) -> Specialised:
    structure = offered()
    if structure is None or tracer.is_interpreted:
        raise tracer.fail("a warp that copies alone, outside of a kernel that is compiled")
    try:
        plan = find_plan(typed, facts, barriers)
    except Unfit as reason:
        raise tracer.fail(f"a warp that copies alone: {reason}") from None
    return Specialised(tracer, plan, structure, given)


def _parameter(tracer: Tracer, variable: Variable, value: Any) -> Any:
    """A plain number takes the type of its parameter; sizes are as wide as cuTile has them."""
    type_ = tracer.type_of(variable)
    if isinstance(value, (bool, int, float)):
        return constant(tracer, value, type_)
    if isinstance(value, core.tensor) and type_.is_int() and value.type != type_:
        return tracer.semantic.cast(value, type_)
    return value


def _grid(tracer: Tracer, options: Options, given: Mapping[str, Any]) -> Grid:
    ids: list[Any] = [0, 1, 2]
    counts: list[Any] = [0, 1, 2]
    for axis, place in options.grid.items():
        names = place if isinstance(place, tuple) else (place,)
        ids[axis] = _given(tracer, given, names[0])
        counts[axis] = _given(tracer, given, names[1]) if len(names) > 1 else ids[axis]
        if isinstance(place, str):
            counts[axis] = None
    return Grid(tuple(ids), tuple(counts))


def _given(tracer: Tracer, given: Mapping[str, Any], name: int | str) -> Any:
    if isinstance(name, int):
        return name
    value = given[name]
    if isinstance(value, core.tensor):
        return tracer.semantic.cast(value, core.int32)
    return constant(tracer, value, core.int32)


def _results(tracer: Tracer, variable: Variable, outputs: Iterator[Any]) -> list[Any]:
    """A tuple's items, or the one result."""
    from cuda.tile._ir.type import NONE, TupleTy

    if variable.get_type() is NONE:
        return []
    if isinstance(variable.get_type(), TupleTy):
        return [_result(tracer, item, outputs) for item in variable.get_aggregate().as_tuple()]
    return [_result(tracer, variable, outputs)]


def _result(tracer: Tracer, variable: Variable, outputs: Iterator[Any]) -> Any:
    """A block tensor, a constant of Python, or a tuple of such; the fields of a dataclass are a tuple, too.

    ``outputs`` are the values of the variables that ``variable`` consists of: passes may have given them other names.
    """
    from cuda.tile._ir.type import NONE, DataclassTy, LooselyTypedScalar, TileTy, TupleTy

    type_ = variable.get_type()
    if isinstance(type_, (TupleTy, DataclassTy)):
        return core.tuple([_result(tracer, item, outputs) for item in variable.get_aggregate().as_tuple()])
    value = None if variable.is_aggregate() else next(outputs)
    if type_ is NONE:
        return core.constexpr(None)
    if variable.is_constant() and isinstance(variable.get_loose_type(), LooselyTypedScalar):
        return core.constexpr(variable.get_constant())
    if not isinstance(type_, TileTy):
        raise tracer.fail(f"a result of type {type_}", hint="return tiles, numbers, or tuples of them")
    return value
