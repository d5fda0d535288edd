"""One region: parameters and block indices in, the kernel's body traced, the caller's tiles out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triton.language import core

from tle_raw.adapters.common.control_flow import flow_of
from tle_raw.adapters.tilelang.locations import location_of
from tle_raw.adapters.tilelang.named_barriers import NamedBarrier
from tle_raw.adapters.tilelang.named_tiles import NamedTile
from tle_raw.adapters.tilelang.program import Program
from tle_raw.adapters.tilelang.read_signature import is_read_again
from tle_raw.adapters.tilelang.tir_types import Variable
from tle_raw.adapters.tilelang.traced.block_reads import block_shape, current
from tle_raw.adapters.tilelang.traced.expressions import evaluate
from tle_raw.adapters.tilelang.traced.reducers import kinds_of
from tle_raw.adapters.tilelang.traced.specialised import Specialised
from tle_raw.adapters.tilelang.traced.statements import run_body
from tle_raw.adapters.tilelang.traced.threads import bind_thread_indices
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.adapters.tilelang.traced.warp_plan import Plan
from tle_raw.errors import SourceLocation, TLEError
from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.parameter_types import IN
from tle_raw.regions.notes import note
from tle_raw.regions.shared_values import SharedTile
from tle_raw.regions.structure import offered
from tle_raw.triton_types import Semantic

LARGEST = 2**31 - 1


def trace_region(
    program: Program,
    tiles: Mapping[str, NamedTile],
    barriers: Mapping[str, NamedBarrier],
    places: Mapping[str, int | str],
    in_grid: bool,
    bound: BoundSignature,
    values: Mapping[str, Any],
    semantic: Semantic,
    plan: Plan | None = None,
    unplanned: str = "",
) -> list[core.tensor]:
    """Write the region with Triton's semantic object; the tiles that it returns, in the signature's order.

    A tile that a region with barriers works on where it is, is none of them. ``plan`` is that of a loop whose copies
    get a warp of their own; ``unplanned`` says why none does, where that is worth a word.

    Raises
    ------
    UntraceableError : at the line of the first construct that cannot be expressed; its log tells of the others.
    """
    tracer = Tracer(semantic, flow_of(semantic), dict(tiles), evaluate, run_body)
    tracer.location = _first_location(program)
    try:
        _parameters(tracer, program, bound, values)
        tracer.barriers = {barrier.buffer.data: values[name] for name, barrier in barriers.items()}
        _block_indices(tracer, program, places, in_grid, values)
        for buffer in program.locals:
            tracer.homes[buffer.data] = buffer
        tracer.reads_again = is_read_again(program.body)
        bind_thread_indices(tracer, program)
        tracer.reducers = kinds_of(program.annotations)
        if plan is not None:
            tracer.specialised = _specialised(tracer, plan, values)
        elif unplanned:
            note(f"no warp copies alone: {unplanned}")
        tracer.safe = dict(program.annotations.get("safe_value_map", {}))
        run_body(tracer, program.body)
        tracer.raise_obstacles()
        written = [tiles[p.name] for p in bound.parameters if p.name in tiles and p.effect != IN]
        return [_result(tracer, tile) for tile in written if tile.buffer.data not in tracer.shared]
    except TLEError as e:
        e.at(source=tracer.location)
        raise


def _specialised(tracer: Tracer, plan: Plan, values: Mapping[str, Any]) -> Specialised:
    structure = offered()
    if structure is None:
        raise tracer.fail("a warp that copies alone, outside of a kernel that is compiled")
    return Specialised(tracer, plan, structure, {load.descriptor: values[load.descriptor] for load in plan.loads})


def _first_location(program: Program) -> SourceLocation | None:
    return location_of(program.body)


def _parameters(tracer: Tracer, program: Program, bound: BoundSignature, values: Mapping[str, Any]) -> None:
    dtypes = {p.name: p.dtype for p in bound.parameters}
    for name, buffer in program.buffers.items():
        if name in tracer.named:
            tracer.homes[buffer.data] = buffer
            if isinstance(values.get(name), SharedTile):
                tracer.shared[buffer.data] = values[name]
            elif name in values:
                tracer.tiles[buffer.data] = _whole_tile(tracer, tracer.named[name], values[name])
        else:
            tracer.memory[buffer.data] = values[name]
    for name, variable in {**program.scalars, **program.dims}.items():
        value = values[name]
        if not isinstance(value, core.tensor):
            assert dtypes[name] is not None
            if isinstance(value, int) and not isinstance(value, bool) and str(variable.dtype).startswith("int"):
                tracer.expressions[variable] = _constant(variable, value)
            value = tracer.number(value, tracer.dtype(variable.dtype))
        tracer.scalars[variable] = value
        if name in program.dims and variable not in tracer.expressions:
            tracer.bind_range(variable, 0, LARGEST)


def _constant(variable: Variable, value: int) -> Any:
    from tvm.tirx import IntImm

    return IntImm(variable.dtype, value)


def _whole_tile(tracer: Tracer, tile: NamedTile, value: core.tensor) -> core.tensor:
    """The caller's block tensor; one of a single element is a scalar here."""
    return tracer.reshape(value, block_shape([tile.extents[d] for d in tile.kept]))


def _block_indices(
    tracer: Tracer, program: Program, places: Mapping[str, int | str], in_grid: bool, values: Mapping[str, Any]
) -> None:
    for axis in program.grid:
        place = places[axis.tag]
        value = values[place] if isinstance(place, str) else tracer.semantic.program_id(place)
        extent = tracer.simplify(axis.extent) if in_grid else LARGEST
        if isinstance(value, int):
            tracer.expressions[axis.variable] = _constant(axis.variable, value)
            continue
        tracer.scalars[axis.variable] = tracer.cast(value, tracer.dtype(axis.variable.dtype))
        # Without the promise an index given by the caller may be anything; a program's own is no less than zero.
        if isinstance(place, int) or in_grid:
            tracer.bind_range(axis.variable, 0, extent)


def _result(tracer: Tracer, tile: NamedTile) -> core.tensor:
    return tracer.reshape(current(tracer, tile.buffer), tile.dims)
