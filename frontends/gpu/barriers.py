"""``tle.gpu.alloc_barrier`` and ``alloc_barriers``, ``barrier_wait`` and ``barrier_arrive``."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row, SharedBufferError, TileIndexError
from tle_raw.frontends.gpu import operations
from tle_raw.frontends.gpu.alloc import BUFFERS, allocated_name
from tle_raw.frontends.gpu.barrier_value import (
    COUNTING,
    PENDING,
    READY,
    Account,
    barrier,
    barrier_type,
    check_begun,
    check_kind,
)
from tle_raw.frontends.gpu.capability import check_has_barriers
from tle_raw.frontends.gpu.checks import check_constant, check_flag
from tle_raw.frontends.gpu.cluster_buffer import cluster_buffer
from tle_raw.frontends.gpu.cluster_copies import arrive_at
from tle_raw.frontends.gpu.gpu_function import gpu_function
from tle_raw.frontends.gpu.named_barriers import arrive_named, wait_named
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.lite.arguments import describe_value, is_integer, is_scalar_integer, plain
from tle_raw.regions.partitions import current_partition
from tle_raw.regions.stages import check_stages, compiled_target

_MOST_ARRIVALS = (1 << 20) - 1  # that an mbarrier counts
_MOST_BYTES = (1 << 20) - 1


@gpu_function
def alloc_barriers(
    num_barriers: Any,
    arrive_count: Any = 1,
    init: Any = PENDING,
    expect_bytes: Any = None,
    _semantic: Any = None,
    _generator: Any = None,
) -> barrier:
    """Barriers in shared memory, one a slot: ``barriers[i]``.

    A barrier counts phases. ``barrier_arrive`` and copies that carry it complete a phase; ``barrier_wait`` waits for
    one. On NVIDIA GPUs from sm_80 on it is an mbarrier, on CPUs and in Triton's interpreter a counter: a program's
    steps come one after the other there, and a wait for a phase that is not complete is an error.

    Parameters
    ----------
    num_barriers : how many; a constant.
    arrive_count : arrivals that complete a phase; a constant. Of a barrier whose uses have no ``phaseIdx`` the number
        of threads that take part.
    init : ``tle.gpu.PENDING``, or ``tle.gpu.READY``: the wait of use 0 passes at once, use 1 waits for the first phase.
    expect_bytes : what the copies of a phase bring together: ``tle.gpu.copy(..., barrier=...)`` from a tensor
        descriptor. The first copy of a phase is one of its arrivals.

    Raises
    ------
    ArgumentTypeError : a number that is no constant, or that a barrier cannot count.
    """
    count = check_constant("alloc_barriers", "num_barriers", num_barriers)
    return _allocate(count, count, arrive_count, init, expect_bytes, _semantic, _generator)


@gpu_function
def alloc_barrier(
    arrive_count: Any = 1,
    init: Any = PENDING,
    expect_bytes: Any = None,
    _semantic: Any = None,
    _generator: Any = None,
) -> barrier:
    """One barrier, as ``alloc_barriers`` makes several.

    Parameters
    ----------
    arrive_count, init, expect_bytes : as for ``alloc_barriers``.

    Raises
    ------
    ArgumentTypeError : a number that is no constant, or that a barrier cannot count.
    """
    return _allocate(1, 0, arrive_count, init, expect_bytes, _semantic, _generator)


def _allocate(
    count: int, slots: int, arrive_count: Any, init: Any, expect_bytes: Any, semantic: Any, generator: Any
) -> barrier:
    if generator is not None:
        check_stages(semantic.builder.options, BUFFERS)
        check_has_barriers("tle.gpu.alloc_barriers", semantic, generator)
    arrivals = check_constant("alloc_barriers", "arrive_count", arrive_count)
    bytes_ = 0 if plain(expect_bytes) is None else check_constant("alloc_barriers", "expect_bytes", expect_bytes)
    state = plain(init)
    if count < 1 or not 1 <= arrivals <= _MOST_ARRIVALS or not 0 <= bytes_ <= _MOST_BYTES:
        raise ArgumentTypeError(
            "tle.gpu.alloc_barriers: a barrier counts so far",
            table=[
                Row("num_barriers", "1 or more", str(count)),
                Row("arrive_count", f"1 to {_MOST_ARRIVALS}", str(arrivals)),
                Row("expect_bytes", f"0 to {_MOST_BYTES}", str(bytes_)),
            ],
        )
    if state not in (PENDING, READY):
        raise ArgumentTypeError(
            "tle.gpu.alloc_barriers: how the barriers begin",
            table=[Row("init", "tle.gpu.PENDING or tle.gpu.READY", describe_value(state))],
        )
    account = Account(allocated_name(generator, semantic))
    type_ = barrier_type(slots, arrivals, state == READY, bytes_, None, account, getattr(generator, "context", None))
    return type_.of(perform(operations.BARRIER_ALLOC, semantic, generator, type_, account.name))


def slot(barriers: Any, stage: Any, _semantic: Any = None, _generator: Any = None) -> barrier:
    """One of several barriers; ``barriers[stage]`` is the same.

    Raises
    ------
    SharedBufferError : it is one already.
    TileIndexError : a constant beyond them.
    """
    type_, index = barriers.type, plain(stage)
    if not type_.slots:
        raise SharedBufferError("tle.gpu.slot: it is one barrier, not several")
    if is_integer(index) and not 0 <= index < type_.slots:
        raise TileIndexError(
            "tle.gpu.slot: there is no such barrier", table=[Row("stage", f"0 to {type_.slots - 1}", str(index))]
        )
    if not is_integer(index) and not is_scalar_integer(index):
        raise ArgumentTypeError(
            "tle.gpu.slot: a barrier's number is an integer",
            table=[Row("stage", "an integer, or a scalar of integers", describe_value(stage))],
        )
    which = index if is_integer(index) else _identity(index, _generator)
    one = type_.changed_slots(0, which)
    number = _semantic.cast(_semantic.to_tensor(index), core.int32)
    made = perform(operations.BARRIER_INDEX, _semantic, _generator, one, barriers.handle, number.handle)
    result: barrier = one.of(made)
    return result


def _identity(index: core.tensor, generator: Any) -> int:
    """Of a run-time number, the same for each use of one value; in the interpreter the number."""
    return int(index.handle.data.item()) if generator is None else int(index.handle.id())


@gpu_function
def barrier_wait(bar: Any, phaseIdx: Any = None, _semantic: Any = None, _generator: Any = None) -> None:
    """Wait until a phase of a barrier is complete, or for the other threads of a named barrier.

    Parameters
    ----------
    bar : one barrier.
    phaseIdx : which use of the barrier this is: 0 waits for its first phase, 1 for its second, and so on; a constant or
        a scalar. With ``init=READY`` use 0 passes at once. Without it the barrier is a named one of the GPU
        (``bar.sync``): the threads that come here arrive, and wait until ``arrive_count`` threads have arrived.

    Raises
    ------
    ArgumentTypeError : no barrier, no use, or a barrier that has phases elsewhere and none here.
    """
    one = check_barrier("barrier_wait", bar)
    if plain(phaseIdx) is None:
        wait_named(one, _semantic, _generator)
        return
    check_kind("barrier_wait", one, COUNTING)
    check_begun("barrier_wait", one)
    phase = _phase("barrier_wait", phaseIdx, _semantic)
    if one.type.ready:
        phase = _semantic.add(phase, _semantic.to_tensor(1), False)
    parity = _semantic.and_(phase, _semantic.to_tensor(1))
    perform(operations.BARRIER_WAIT, _semantic, _generator, one.handle, parity.handle)


@gpu_function
def barrier_arrive(
    bar: Any,
    arrive_count: Any = 1,
    phaseIdx: Any = None,
    after_copies: Any = False,
    _semantic: Any = None,
    _generator: Any = None,
) -> None:
    """Arrive at a barrier: what was done before is done for whoever waits for it.

    Parameters
    ----------
    bar : one barrier; or of ``tle.remote``, another block's, which has phases.
    arrive_count : as how many arrivals it counts; a constant.
    phaseIdx : which use this is; the barrier counts by itself. Without it the barrier is a named one of the GPU
        (``bar.arrive``), at which each of the threads that come here arrives once.
    after_copies : arrive when all copies with ``is_async=True`` that were begun before are done too, and go on
        meanwhile (``cp.async.mbarrier.arrive``). Outside of ``warp_specialize``'s partitions they are waited for.

    Raises
    ------
    ArgumentTypeError : no barrier, a count that the barrier does not have, or one that has phases elsewhere and none
        here; ``after_copies`` without a phase.
    """
    remote = plain(bar) if isinstance(plain(bar), cluster_buffer) else None
    one = check_barrier("barrier_arrive", remote.own if remote else bar)
    count = check_constant("barrier_arrive", "arrive_count", arrive_count)
    if not 1 <= count <= one.type.arrive_count:
        raise ArgumentTypeError(
            "tle.gpu.barrier_arrive: more arrivals than a phase has",
            table=[Row("arrive_count", f"1 to {one.type.arrive_count}", str(count))],
        )
    waits_for_copies = check_flag("barrier_arrive", "after_copies", after_copies)
    if remote is not None:
        if waits_for_copies:
            raise ArgumentTypeError("tle.gpu.barrier_arrive: copies arrive at the block's own barriers")
        arrive_at(remote, count, _semantic, _generator)
        return
    if plain(phaseIdx) is None:
        if waits_for_copies:
            raise ArgumentTypeError(
                "tle.gpu.barrier_arrive: copies arrive at barriers with phases",
                table=[Row("phaseIdx", "which use of the barrier it is", "None")],
            )
        arrive_named(one, count, _semantic, _generator)
        return
    _phase("barrier_arrive", phaseIdx, _semantic)
    check_kind("barrier_arrive", one, COUNTING)
    if waits_for_copies and compiled_target() == "cuda" and current_partition() is not None:
        perform(operations.ASYNC_ARRIVE, _semantic, _generator, one.handle)
    elif waits_for_copies:
        perform(operations.ASYNC_COMMIT_GROUP, _semantic, _generator)
        perform(operations.ASYNC_WAIT, _semantic, _generator, 0)
    perform(operations.BARRIER_ARRIVE, _semantic, _generator, one.handle, count)


def check_barrier(function: str, value: Any) -> barrier:
    """One barrier."""
    value = plain(value)
    if not isinstance(value, barrier) or value.type.slots:
        got = str(value.type) if isinstance(value, barrier) else describe_value(value)
        raise ArgumentTypeError(
            f"tle.gpu.{function} takes one barrier", table=[Row("bar", "a barrier: barriers[i]", got)]
        )
    return value


def _phase(function: str, value: Any, semantic: Any) -> core.tensor:
    phase = plain(value)
    if not (is_integer(phase) and phase >= 0) and not is_scalar_integer(phase):
        raise ArgumentTypeError(
            f"tle.gpu.{function}: a use of the barrier is a number",
            table=[Row("phaseIdx", "0 or more, or a scalar of integers", describe_value(value))],
        )
    return semantic.cast(semantic.to_tensor(phase), core.int32)
