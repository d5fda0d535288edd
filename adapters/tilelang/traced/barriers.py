"""Barriers of the caller: ``T.mbarrier_wait_parity`` and ``T.mbarrier_arrive``, and their other names.

All threads that run a statement arrive, so that so many arrivals are counted; and what they did before is done.
"""

from __future__ import annotations

from triton.language import core

from tle_raw.adapters.tilelang.tir_types import Call
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.regions.shared_values import SharedBarrier


def wait(tracer: Tracer, call: Call) -> None:
    """``T.mbarrier_wait_parity(full, parity)``, which ``T.barrier_wait`` is too."""
    barrier = _of_caller(tracer, call)
    parity = tracer.cast(tracer.integer(call.args[1]), core.int32)
    barrier.wait(tracer.semantic.and_(parity, tracer.number(1, core.int32)))


def arrive(tracer: Tracer, call: Call) -> None:
    """``T.mbarrier_arrive(empty)``, which ``T.barrier_arrive`` is too."""
    barrier = _of_caller(tracer, call)
    if tracer.guards or tracer.lanes.extents:
        raise tracer.fail("an arrival that only some lanes of a parallel loop make")
    barrier.arrive(tracer.active)


def _of_caller(tracer: Tracer, call: Call) -> SharedBarrier:
    memory = call.args[0].buffer.data
    if memory not in tracer.barriers:
        raise tracer.fail(
            f"the barrier `{call.args[0].buffer.name}` of its own",
            hint="barriers=[…] names those that the Triton kernel has; the linked route takes others",
        )
    return tracer.barriers[memory]
