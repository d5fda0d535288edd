"""``tle.gpu.keep_in_step`` and ``leave_step``: programs that share what they read stay close together in time.

Programs that stay, each with its tiles, drift apart: nothing makes them wait for each other. What one has read is then
gone from the L2 cache when another wants it, and is read from memory again. A counter tells how far all have come.

Nobody depends on it: who has waited too long goes on, and everybody else then does, until the launch is over. So a
launch of more programs than run at a time loses a moment and nothing else.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.gpu.checks import counted
from tle_raw.frontends.gpu.gpu_function import gpu_function
from tle_raw.frontends.lite.arguments import describe_value, plain
from tle_raw.frontends.lite.traced_call import call_kernel_function
from tle_raw.regions.stages import compiled_target

# Of the counter's 64 bits the low half counts arrivals. The high half counts who gave up, and makes it more than
# anybody waits for.
_GIVEN_UP = tl.constexpr(1 << 32)
_ARRIVALS = tl.constexpr((1 << 32) - 1)
_LOOKS = tl.constexpr(2000)  # of some 0.7 µs: the programs of a launch begin closer together


@gpu_function
def keep_in_step(counter: Any, turn: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """Wait until all programs of the launch have come to this turn, or for about a millisecond at most.

    Programs that read the same memory do so at about the same time, and find it in the L2 cache. It orders nothing, and
    nothing may depend on it. Each program calls it in one partition of its warps, once for each turn, and at the end
    ``leave_step``. On the CPU and in the interpreter, where programs may run behind one another, it does nothing.

    Parameters
    ----------
    counter : a pointer to an i64 in global memory. It is 0 before a launch, and again behind it; launches that may run
        at the same time have counters of their own.
    turn : how often this program has called it before: 0, 1, …; a scalar of integers. A turn of some 50 µs costs less
        than is measured.

    Raises
    ------
    ArgumentTypeError : no such counter, or a turn that is no integer.
    """
    _check_counter("keep_in_step", counter)
    number = counted("keep_in_step", "turns", "turn", turn, core.int64, _semantic)
    if _is_for_a_gpu(_generator):
        call_kernel_function(_keep, plain(counter), number, semantic=_semantic, generator=_generator)


@gpu_function
def leave_step(counter: Any, turns: Any, most: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """Say that this program keeps in step no more: nobody waits for it, and the last one leaves the counter at 0.

    Parameters
    ----------
    counter : that of ``keep_in_step``.
    turns : how often this program has called it; a scalar of integers.
    most : how often any program of the launch calls it; the same number in all of them.

    Raises
    ------
    ArgumentTypeError : no such counter, or numbers that are no integers.
    """
    _check_counter("leave_step", counter)
    done, all_turns = (
        counted("leave_step", "turns", name, value, core.int64, _semantic)
        for name, value in (("turns", turns), ("most", most))
    )
    if _is_for_a_gpu(_generator):
        call_kernel_function(_leave, plain(counter), done, all_turns, semantic=_semantic, generator=_generator)


def _is_for_a_gpu(generator: Any) -> bool:
    return generator is not None and compiled_target() == "cuda"


def _check_counter(function: str, counter: Any) -> None:
    pointer = plain(counter)
    if not isinstance(pointer, core.tensor) or pointer.type != core.pointer_type(core.int64):
        raise ArgumentTypeError(
            f"tle.gpu.{function}: turns are counted in global memory",
            table=[Row("counter", "a pointer to an int64 that is 0", describe_value(counter))],
        )


@triton.jit
def _programs():  # type: ignore[no-untyped-def]
    return tl.num_programs(0).to(tl.int64) * tl.num_programs(1) * tl.num_programs(2)


@triton.jit
def _keep(counter, turn):  # type: ignore[no-untyped-def]
    wanted = (turn + 1) * _programs()
    seen = tl.atomic_add(counter, tl.full([], 1, tl.int64), sem="relaxed") + 1
    looks = 0
    while (seen < wanted) & (looks < _LOOKS):
        seen = tl.load(counter, volatile=True)
        looks += 1
    if seen < wanted:
        tl.atomic_add(counter, tl.full([], _GIVEN_UP, tl.int64), sem="relaxed")


@triton.jit
def _leave(counter, turns, most):  # type: ignore[no-untyped-def]
    missing = most - turns
    before = tl.atomic_add(counter, missing, sem="relaxed")
    arrived = (before & _ARRIVALS) + missing
    tl.store(counter, tl.full([], 0, tl.int64), mask=arrived == most * _programs())
