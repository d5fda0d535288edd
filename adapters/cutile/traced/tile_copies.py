"""What a warp that only copies does: the kernel's loops once more, of which nothing but the loads of tiles is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from triton.language import core

from tle_raw.adapters.common.rings import Ring, Rings
from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.specialise.plan import Plan
from tle_raw.adapters.cutile.specialise.tile_rings import TileRing
from tle_raw.adapters.cutile.traced.control import run_operation
from tle_raw.adapters.cutile.traced.ring_uses import RingUses
from tle_raw.adapters.cutile.traced.tracer import Tracer, View
from tle_raw.adapters.cutile.traced.values import cast, constant

Values = list[Any]


class TileCopies:
    """``rings`` and ``descriptors`` are the worker's own, by the ring of the plan."""

    def __init__(
        self,
        tracer: Tracer,
        plan: Plan,
        rings: Rings,
        own: Mapping[TileRing, Ring],
        descriptors: Mapping[TileRing, Any],
    ) -> None:
        self._tracer, self._plan, self._rings = tracer, plan, rings
        self._own, self._descriptors, self._uses = own, descriptors, RingUses(tracer, plan)

    def run(self, operations: Iterable[Operation]) -> None:
        """The copies of these operations, in their order."""
        for op in operations:
            ring = self._plan.ring_of.get(id(op))
            if ring is not None:
                self._copy(op, ring)
            elif id(op) in self._plan.turns or id(op) in self._plan.around:
                self._loop(op)
            elif id(op) in self._plan.copies.computed:
                run_operation(self._tracer, op)

    def _loop(self, op: Operation) -> None:
        tracer = self._tracer
        places = sorted(self._plan.copies.carried.get(id(op), ()))
        bounds = [tracer.value(v) for v in (op.start, op.stop, op.step)]
        before = [tracer.value(op.initial_values[place]) for place in places]
        jump = list(op.body)[-1]

        def body(index: core.tensor, values: Values) -> Values:
            tracer.values[op.induction_var.name] = index
            tracer.bind([op.body_vars[place] for place in places], values[: len(places)])
            self._uses.enter(op, values[len(places) :])
            self.run(list(op.body)[:-1])
            self._uses.advance(op)
            return [*(tracer.value(jump.values[place]) for place in places), *self._uses.carried(op)]

        after = tracer.flow.loop(tracer, bounds, [*before, *self._uses.carried(op)], body)
        tracer.bind([op.result_vars[place] for place in places], after[: len(places)])
        self._uses.enter(op, after[len(places) :])

    def _copy(self, load: Operation, ring: TileRing) -> None:
        """A tile into its slot; it begins at the numbers that the load's index says, times how far tiles are apart."""
        type_ = load.view.get_type()
        rank = len(type_.tile_shape)
        order = tuple(getattr(type_, "order", range(rank)))
        steps = tuple(getattr(type_, "traversal_steps", type_.tile_shape))
        places = {dim: self._place(load.index[axis], steps[axis]) for axis, dim in enumerate(order)}
        use = None if ring.stays else self._uses.of(ring)
        at = [places[dim] for dim in ring.dims]
        self._rings.fill(self._own[ring], use, self._descriptors[ring], at)

    def _place(self, index: Any, step: int) -> core.tensor:
        tracer = self._tracer
        number = cast(tracer, tracer.value(index), core.int32)
        if step == 1:
            return number
        return tracer.make("create_mul", core.int32, number, constant(tracer, step, core.int32))


def captured_values(tracer: Tracer, plan: Plan) -> dict[str, Any]:
    """What the copying warp needs from outside, by cuTile's names."""
    found = {name: tracer.values[name] for name in plan.copies.captured}
    return {name: value for name, value in found.items() if not isinstance(value, View)}
