"""``tle.gpu.alloc_tile_scheduler``, ``fetch_tile`` and ``next_tile``: which tiles a program that stays takes.

A static order is a formula of program and turn. In a dynamic one a counter in global memory gives each program the next
tile that nobody has, or the GPU one of a program that has not begun (``take_over``): one partition of the warps fetches
it and tells the others by a ring of numbers in shared memory.
"""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.gpu import alloc as buffers
from tle_raw.frontends.gpu import barriers, content
from tle_raw.frontends.gpu.barrier_value import READY
from tle_raw.frontends.gpu.checks import check_constant, counted
from tle_raw.frontends.gpu.gpu_function import gpu_function
from tle_raw.frontends.gpu.scheduler_value import tile_scheduler
from tle_raw.frontends.gpu.take_over import answers, taken_over, takes_over
from tle_raw.frontends.lite.arguments import describe_value, plain

STATIC, DYNAMIC, TRY_CANCEL = "static", "dynamic", "try_cancel"


@gpu_function
def alloc_tile_scheduler(
    kind: Any = STATIC,
    counter: Any = None,
    readers: Any = 1,
    slots: Any = 2,
    _semantic: Any = None,
    _generator: Any = None,
) -> Any:
    """An order in which programs that stay take tiles: ``fetch_tile`` and ``next_tile`` walk it.

    The first tile of a program is ``tl.program_id(0)``. ``"static"`` gives the others by turns: every other round goes
    from the last program to the first, so that no program gets the longer tile each time. ``"dynamic"`` gives the next
    one that nobody has, by a counter: programs that were faster take more. ``"try_cancel"`` gives the tile of a program
    that has not begun, of a launch with a program for each tile: on sm_100, elsewhere each program has its own alone.

    Parameters
    ----------
    kind : ``"static"``, ``"dynamic"`` or ``"try_cancel"``; a constant.
    counter : of ``"dynamic"``: a pointer to an i32 in global memory. It is 0 before a launch, and again behind it.
    readers : how many partitions call ``next_tile``; a constant.
    slots : how many tiles ``fetch_tile`` may be ahead of them; a constant. Of a static order neither matters.

    Raises
    ------
    ArgumentTypeError : no such kind, or no counter where one is wanted.
    """
    wanted, pointer = plain(kind), plain(counter)
    if wanted not in (STATIC, DYNAMIC, TRY_CANCEL):
        raise ArgumentTypeError(
            "tle.gpu.alloc_tile_scheduler: no such order of tiles",
            table=[Row("kind", f'"{STATIC}", "{DYNAMIC}" or "{TRY_CANCEL}"', describe_value(kind))],
        )
    if wanted == DYNAMIC:
        _check_counter(pointer, counter)
    count = check_constant("alloc_tile_scheduler", "readers", readers)
    depth = check_constant("alloc_tile_scheduler", "slots", slots)
    if wanted == STATIC or (wanted == TRY_CANCEL and not takes_over(_semantic, _generator)):
        return tile_scheduler(wanted)
    traced = {"_semantic": _semantic, "_generator": _generator}
    source = (pointer,) if wanted == DYNAMIC else answers(_semantic, _generator)
    numbers = buffers.alloc([depth, 1], core.int32, nv_mma_shared_layout=False, **traced)
    full = barriers.alloc_barriers(depth, **traced)
    empty = barriers.alloc_barriers(depth, arrive_count=count, init=READY, **traced)
    return tile_scheduler(wanted, (*source, numbers, full, empty))


@gpu_function
def fetch_tile(scheduler: Any, turn: Any, total: Any, _semantic: Any = None, _generator: Any = None) -> core.tensor:
    """The number of the tile behind the program's tile of this turn, for the partition that finds it out.

    It is called once for each tile, and may be called before the tile is worked on: the others get the numbers by
    ``next_tile`` in the same order.

    Parameters
    ----------
    scheduler : of ``alloc_tile_scheduler``.
    turn : how many tiles the program had before this one: 0, 1, …; a scalar of integers.
    total : how many tiles there are. A number that is no smaller says that the program is done.

    Raises
    ------
    ArgumentTypeError : no scheduler, or a turn or total that is no integer.
    """
    order, number, end = _checked("fetch_tile", scheduler, turn, total, _semantic)
    if not order.members:
        return _known(order, number, end, _semantic)
    *source, numbers, full, empty = order.members
    traced = {"_semantic": _semantic, "_generator": _generator}
    if order.type.kind == DYNAMIC:
        found = _counted(source[0], end, _semantic)
    else:
        found = taken_over(tuple(source), number, end, _semantic, _generator)
    slot, use = _ring(numbers, number, _semantic)
    barriers.barrier_wait(barriers.slot(empty, slot, **traced), use, **traced)
    content.store(numbers.slot(slot, **traced), found, **traced)
    barriers.barrier_arrive(barriers.slot(full, slot, **traced), 1, use, **traced)
    return found


@gpu_function
def next_tile(scheduler: Any, turn: Any, total: Any, _semantic: Any = None, _generator: Any = None) -> core.tensor:
    """The number of the tile behind the program's tile of this turn, as ``fetch_tile`` has found it.

    Parameters
    ----------
    scheduler, turn, total : as for ``fetch_tile``.

    Raises
    ------
    ArgumentTypeError : no scheduler, or a turn or total that is no integer.
    """
    order, number, end = _checked("next_tile", scheduler, turn, total, _semantic)
    if not order.members:
        return _known(order, number, end, _semantic)
    *_, numbers, full, empty = order.members
    traced = {"_semantic": _semantic, "_generator": _generator}
    slot, use = _ring(numbers, number, _semantic)
    barriers.barrier_wait(barriers.slot(full, slot, **traced), use, **traced)
    found = _semantic.unsplat(content.load(numbers.slot(slot, **traced), **traced))
    barriers.barrier_arrive(barriers.slot(empty, slot, **traced), 1, use, **traced)
    return found


def _check_counter(pointer: Any, given: Any) -> None:
    is_pointer = isinstance(pointer, core.tensor) and not pointer.type.is_block() and pointer.dtype.is_ptr()
    if not is_pointer or pointer.dtype.element_ty != core.int32:
        raise ArgumentTypeError(
            "tle.gpu.alloc_tile_scheduler: a dynamic order has a counter in global memory",
            table=[Row("counter", "a pointer to an int32 that is 0", describe_value(given))],
        )


def _checked(
    function: str, scheduler: Any, turn: Any, total: Any, semantic: Any
) -> tuple[tile_scheduler, core.tensor, core.tensor]:
    """The scheduler, the turn and the total."""
    order = plain(scheduler)
    if not isinstance(order, tile_scheduler):
        raise ArgumentTypeError(
            f"tle.gpu.{function} takes a scheduler",
            table=[Row("scheduler", "of tle.gpu.alloc_tile_scheduler", describe_value(scheduler))],
        )
    number, end = (
        counted(function, "tiles", name, value, core.int32, semantic)
        for name, value in (("turn", turn), ("total", total))
    )
    return order, number, end


def _ring(numbers: Any, turn: core.tensor, semantic: Any) -> tuple[core.tensor, core.tensor]:
    """The slot of a turn, and the use of its barriers."""
    depth = semantic.to_tensor(int(numbers.type.shape[0]))
    return semantic.mod(turn, depth), semantic.floordiv(turn, depth)


def _known(order: tile_scheduler, turn: core.tensor, end: core.tensor, semantic: Any) -> core.tensor:
    """The number that nobody needs to fetch."""
    return _static(turn, semantic) if order.type.kind == STATIC else end


def _counted(counter: Any, end: core.tensor, semantic: Any) -> core.tensor:
    """The next number of a counter. Each tile that is taken is followed by one call: the last leaves it as it was."""
    one = semantic.to_tensor(1)
    before = core.atomic_add(counter, one, sem="relaxed", _semantic=semantic)
    is_last = semantic.equal(before, semantic.sub(end, one, False))
    core.store(counter, semantic.to_tensor(0), mask=is_last, _semantic=semantic)
    return semantic.add(before, semantic.num_programs(0), False)


def _static(turn: core.tensor, semantic: Any) -> core.tensor:
    """The number behind that of a turn: rounds go to and fro over the programs."""
    one, programs, program = semantic.to_tensor(1), semantic.num_programs(0), semantic.program_id(0)
    following = semantic.add(turn, one, False)
    back = semantic.sub(semantic.sub(programs, one, False), program, False)
    is_forth = semantic.equal(semantic.and_(following, one), semantic.to_tensor(0))
    place = semantic.where(is_forth, program, back)
    return semantic.add(semantic.mul(following, programs, False), place, False)
