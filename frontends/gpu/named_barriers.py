"""Waits for barriers and arrivals at them without phases: the GPU's named barriers.

They have a number in the code in place of memory, which FLIR gives them (``flir/nvidia/place_named_barriers.py``). In
Triton IR a load of the barrier's word and a marker that takes it stand for one: so it is known which barrier it is.
"""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.gpu import interpreted_barriers, operations
from tle_raw.frontends.gpu.barrier_value import NAMED, barrier, check_kind
from tle_raw.frontends.gpu.operations import perform
from tle_raw.regions import ports
from tle_raw.regions.interpret import interpreted_warps
from tle_raw.regions.partitions import current_partition, warps_here

WARP = 32
_MOST_THREADS = 4096 - WARP  # that the instruction counts
NOTE = "barrier"  # of a load that hands the barrier itself to whoever takes it


def wait_named(one: barrier, semantic: Any, generator: Any) -> None:
    """Arrive with the threads that come here, and wait for the others."""
    _check("barrier_wait", one)
    _mark("wait", one, semantic, generator)


def arrive_named(one: barrier, count: int, semantic: Any, generator: Any) -> None:
    """Arrive with the threads that come here."""
    _check("barrier_arrive", one)
    if count not in (1, one.type.arrive_count):
        raise ArgumentTypeError(
            "tle.gpu.barrier_arrive: at a named barrier the threads that come here arrive, one arrival each",
            table=[Row("arrive_count", "left out, or the barrier's", str(count))],
        )
    _mark("arrive", one, semantic, generator)


def _mark(what: str, one: barrier, semantic: Any, generator: Any) -> None:
    if generator is None:
        interpreted_barriers.meet(one.handle, WARP * warps_here(interpreted_warps()), waits=what == "wait")
        return
    word = perform(operations.BARRIER_WORD, semantic, generator, one.handle, NOTE)
    type_ = core.block_type(core.int64, [1]).to_ir(semantic.builder)
    symbol = f"{ports.NAMED}.{what}"
    semantic.builder.create_extern_elementwise(str(one.type.arrive_count), "", symbol, [word], type_, False)


def _check(function: str, one: barrier) -> None:
    type_, partition = one.type, current_partition()
    check_kind(function, one, NAMED)
    if type_.ready or type_.expect_bytes:
        raise ArgumentTypeError(
            f"tle.gpu.{function}: a barrier without phases is neither READY nor expects bytes",
            table=[
                Row("init", "tle.gpu.PENDING", "tle.gpu.READY" if type_.ready else "tle.gpu.PENDING"),
                Row("expect_bytes", "None", str(type_.expect_bytes or None)),
            ],
            hint="say which use of the barrier this is: phaseIdx",
        )
    if type_.arrive_count % WARP or not 0 < type_.arrive_count <= _MOST_THREADS:
        raise ArgumentTypeError(
            f"tle.gpu.{function}: a named barrier counts the threads of whole warps",
            table=[Row("arrive_count", f"a multiple of {WARP}, at most {_MOST_THREADS}", str(type_.arrive_count))],
            hint="of the allocation; or say which use of the barrier this is: phaseIdx",
        )
    if partition is not None and partition.own_warps:
        raise ArgumentTypeError(
            f"tle.gpu.{function}: a named barrier counts threads, and {partition.name} has those of "
            f"{partition.own_warps} warps for fragments and of {partition.num_warps} for all else",
            hint="say which use of the barrier this is, phaseIdx, or give the worker a power of two of warps",
        )
    if partition is not None and type_.arrive_count < WARP * partition.num_warps:
        raise ArgumentTypeError(
            f"tle.gpu.{function}: a named barrier counts fewer threads than come: all of {partition.name} do",
            table=[Row("arrive_count", f"{WARP * partition.num_warps} or more", str(type_.arrive_count))],
            hint="of the allocation: the threads of all partitions that come to it",
        )
