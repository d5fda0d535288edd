"""TileLang's tile operations, by name; each family has its own file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tle_raw.adapters.tilelang.named_barriers import ARRIVE, WAIT
from tle_raw.adapters.tilelang.traced import atomics, barriers, copies, gemm, im2col, reducers, reductions
from tle_raw.adapters.tilelang.traced.tracer import Tracer

OPERATIONS: dict[str, Callable[[Tracer, Any], Any]] = {
    "tl.tileop.copy": copies.copy,
    "tl.tileop.async_copy": copies.copy,
    "tl.tileop.transpose": copies.transpose,
    "tl.tileop.fill": copies.fill,
    "tl.tileop.im2col": im2col.im2col,
    "tl.tileop.c2d_im2col": im2col.im2col,
    "tl.tileop.gemm": gemm.gemm,
    "tl.tileop.reduce": reductions.reduce,
    "tl.tileop.cumsum": reductions.cumulative_sum,
    "tl.tileop.cummax": reductions.cumulative_max,
    "tl.tileop.reducer_init": reducers.start,
    "tl.reducer_update": reducers.update,
    "tl.tileop.finalize_reducer": reducers.finish,
    "tl.tileop.finalize_reducer_v2": reducers.finish,
    "tl.tileop.atomicadd": atomics.add_tile,
    "tl.tileop.atomicmax": atomics.max_tile,
    "tl.tileop.atomicmin": atomics.min_tile,
    WAIT: barriers.wait,
    ARRIVE: barriers.arrive,
    "tl.atomic_add_elem_op": atomics.add,
    "tl.atomic_addx2_elem_op": atomics.add_two,
    "tl.atomic_addx4_elem_op": atomics.add_four,
    "tl.atomic_max_elem_op": atomics.maximum,
    "tl.atomic_min_elem_op": atomics.minimum,
    "tl.atomic_or_elem_op": atomics.either,
}
