"""``tle.signal`` and ``tle.signal_wait``: one device tells another how far it is, by numbers in its memory."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.distributed import context_layout as layout
from tle_raw.frontends.distributed.device_barrier import program_number
from tle_raw.frontends.distributed.device_memory import is_on_own_node, own_part, region_of, world_of
from tle_raw.frontends.distributed.device_waits import is_given_up, record_fault
from tle_raw.frontends.distributed.nvshmem_calls import change_number, see_what_came, wait_for_puts
from tle_raw.frontends.distributed.traced_call import (
    calls_nvshmem,
    checked_context,
    place_of_call,
    scalar_integer,
)
from tle_raw.frontends.lite.arguments import describe_value
from tle_raw.frontends.lite.kernel_function import kernel_function
from tle_raw.frontends.lite.traced_call import call_kernel_function

_SIGNALS = tl.constexpr(layout.SIGNALS)
_SLOTS = tl.constexpr(layout.SLOTS)
_AT_SIGNAL = tl.constexpr(layout.AT_SIGNAL)
_NO_SUCH_SLOT = tl.constexpr(layout.NO_SUCH_SLOT)
_NO_SUCH_MEMBER = tl.constexpr(layout.NO_SUCH_MEMBER)
_OPERATIONS = ("add", "set")
_CONDITIONS = ("ge", "eq", "ne")


@kernel_function
def signal(
    context: Any,
    peer: Any,
    slot: Any,
    value: Any = 1,
    op: Any = "add",
    _semantic: Any = None,
    _generator: Any = None,
) -> None:
    """Change a number of a peer, once for the whole program, after all that its threads have written.

    Who sees the number by ``tle.signal_wait`` sees what every thread of the program wrote before, to any device.

    Parameters
    ----------
    context : the kernel's argument that came from ``tle_raw.distributed.context``.
    peer : whose number, a rank of the context; may be the program's own.
    slot : which one, from 0 to the context's ``slots - 1``. All are zero at first, and keep their values from launch
        to launch.
    value : an i32.
    op : ``"add"`` the value to the number, or ``"set"`` it.

    Raises
    ------
    ArgumentTypeError : what is no context or no integer, another ``op``. A slot or a peer that the context does not
        have is a fault, which ``Context.check`` raises.
    """
    arguments = [
        scalar_integer("signal", *one, _semantic) for one in (("peer", peer), ("slot", slot), ("value", value))
    ]
    adds = _one_of("signal", "op", op, _OPERATIONS) == "add"
    by_nvshmem = calls_nvshmem(checked_context("signal", context), _generator)
    place = place_of_call(_semantic, _generator)
    call_kernel_function(
        _signal, context, *arguments, adds, by_nvshmem, place, semantic=_semantic, generator=_generator
    )


@kernel_function
def signal_wait(
    context: Any,
    slot: Any,
    until: Any,
    condition: Any = "ge",
    _semantic: Any = None,
    _generator: Any = None,
) -> Any:
    """Wait until this device's own number is what is wanted, and give the number.

    All threads of the program see what was written before the signals that made it so. A wait beyond the context's
    time limit is a fault: it ends, and so does each later one of the device, and ``Context.check`` raises an error.

    Parameters
    ----------
    context, slot : as for ``tle.signal``.
    until : an i32 to compare with.
    condition : ``"ge"``, the number has reached ``until``, where it may wrap round; ``"eq"`` or ``"ne"``.

    Raises
    ------
    ArgumentTypeError : as ``tle.signal``.
    """
    numbers = {"slot": slot, "until": until}
    arguments = [scalar_integer("signal_wait", name, number, _semantic) for name, number in numbers.items()]
    chosen = _one_of("signal_wait", "condition", condition, _CONDITIONS)
    place = place_of_call(_semantic, _generator)
    context = checked_context("signal_wait", context)
    by_nvshmem = calls_nvshmem(context, _generator)
    return call_kernel_function(
        _signal_wait, context, *arguments, chosen, by_nvshmem, place, semantic=_semantic, generator=_generator
    )


def _one_of(name: str, parameter: str, value: Any, known: tuple[str, ...]) -> str:
    found = value.value if isinstance(value, core.constexpr) else value
    if found not in known:
        raise ArgumentTypeError(
            f"tle.{name}: unknown {parameter}",
            table=[Row(parameter, " or ".join(repr(one) for one in known), describe_value(value))],
        )
    return str(found)


@triton.jit  # type: ignore[untyped-decorator]
def _signal(context, peer, slot, value, adds: tl.constexpr, by_nvshmem: tl.constexpr, place):  # type: ignore[no-untyped-def]
    slots, world = tl.load(context + _SLOTS).to(tl.int32), world_of(context)
    if (slot < 0) | (slot >= slots):
        record_fault(context, slot * 0 + _NO_SUCH_SLOT, peer, program_number(), slot, slot, slots, place)
    elif (peer < 0) | (peer >= world):
        record_fault(context, slot * 0 + _NO_SUCH_MEMBER, peer, program_number(), slot, peer, world, place)
    else:
        near = True
        if by_nvshmem:
            near = is_on_own_node(context, peer)
            wait_for_puts()
        tl.debug_barrier()
        if near:
            numbers = (region_of(context, peer) + tl.load(context + _SIGNALS)).to(tl.pointer_type(tl.int32))
            if adds:
                tl.atomic_add(numbers + slot, value, sem="release", scope="sys")
            else:
                tl.atomic_xchg(numbers + slot, value, sem="release", scope="sys")
        else:
            if by_nvshmem:
                change_number(own_part(context, _SIGNALS, tl.int32) + slot, value, adds, peer)


@triton.jit  # type: ignore[untyped-decorator]
def _signal_wait(context, slot, until, condition: tl.constexpr, by_nvshmem: tl.constexpr, place):  # type: ignore[no-untyped-def]
    slots = tl.load(context + _SLOTS).to(tl.int32)
    found, kind = until * 0, until * 0
    if (slot < 0) | (slot >= slots):
        kind += _NO_SUCH_SLOT
        found, until = slot, slots
    else:
        number = own_part(context, _SIGNALS, tl.int32) + slot
        found = tl.atomic_add(number, 0, sem="acquire", scope="sys")
        if not _is_met(found, until, condition):
            turns, start, given_up = 0, tl.full([], 0, tl.int64), False
            while (not _is_met(found, until, condition)) & (not given_up):
                turns += 1
                found = tl.atomic_add(number, 0, sem="relaxed", scope="sys")
                given_up, start = is_given_up(context, turns, start)
            if not _is_met(found, until, condition):
                kind += _AT_SIGNAL
            found = tl.atomic_add(number, 0, sem="acquire", scope="sys")
        if by_nvshmem:
            see_what_came(number)
        tl.debug_barrier()
    if kind != 0:
        record_fault(context, kind, slot * 0 - 1, program_number(), slot, found, until, place)
    return found


@triton.jit  # type: ignore[untyped-decorator]
def _is_met(found, until, condition: tl.constexpr):  # type: ignore[no-untyped-def]
    if condition == "ge":
        met = found - until >= 0
    elif condition == "eq":
        met = found == until
    else:
        met = found != until
    return met
