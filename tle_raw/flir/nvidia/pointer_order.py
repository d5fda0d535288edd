"""Decide where block barriers order accesses by pointers into shared buffers.

Triton puts barriers between its own accesses to buffers, which it sees; a pointer's access it takes for one to global
memory. So a barrier stands between an access by a pointer and any other access to the same buffer, where one of the two
writes. Atomic operations of one kind whose results nobody uses come in any order. What a copy or a product in the
background does is ordered when it is waited for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tle_raw.flir.nvidia.barrier_walk import AFTER, BARRIERS, Barrier, Rules, choose_barriers, is_barrier
from tle_raw.flir.nvidia.constant_places import ConstantPlaces, Place
from tle_raw.flir.nvidia.shared_pointers import ACCESSES, LOADS, STORES, SharedPointers, called_function, function_name
from tle_raw.linker.mlir.generic_tree import Operation, Value
from tle_raw.regions.clusters import CLUSTER

WAITS = ("ttg.async_wait", "ttng.async_tma_store_wait")
# What reads or writes buffers by the GPU's asynchronous proxy.
BACKGROUND = ("ttng.async_tma", "ttng.warp_group_dot", "ttng.tc_gen5", "ttng.tmem_copy")
_READ, _WRITTEN, _BOTH = "read", "written", "both"
# Atomic operations that give the same whatever comes first: and, or, xor, add, fadd, max, min, umax, umin.
_COMMUTE = {"1", "2", "3", "4", "5", "6", "7", "8", "9"}
_KIND = re.compile(r"atomic_rmw_op = (\d+)")
_BARRIER_OPERATIONS = (
    *("init_barrier", "inval_barrier", "arrive_barrier", "barrier_expect", "wait_barrier"),
    "async_copy_mbarrier_arrive",
)
_UNTOUCHED = (
    *(f"ttng.{name}" for name in _BARRIER_OPERATIONS),
    *("ttg.memdesc", "ttg.local_dealloc", "tti.", "ttg.warp_specialize", "ttng.tensormap"),
)
_OURS = ("ttg.", "ttng.", "tt.extern_elementwise")
_OWN = {"ttg.local_load": _READ, "ttg.local_store": _WRITTEN, "ttg.local_alloc": _WRITTEN, "ttg.async_copy": _WRITTEN}


class Access(NamedTuple):
    """What an operation does to buffers. ``kind`` is read, written, both, or the number of an atomic operation.

    ``lasts`` is False of what somebody else waits for: it must not begin too early, and orders nothing afterwards.
    ``place`` says which elements it touches, where that is known.
    """

    kind: str
    buffer: Value | None  # None is any
    by_pointer: bool
    lasts: bool = True
    place: Place | None = None


_ANYTHING: frozenset[Access] = frozenset({Access(_BOTH, None, True)})


def decide_order(pointers: SharedPointers) -> set[Barrier]:
    """The barriers that are missing, by line: before an operation, or after one.

    They stand outside of as many loops as will do.
    """
    events = dict(_events(pointers))
    after_waits = {(wait.end, AFTER) for wait in events if wait.name in WAITS and not is_followed(wait)}
    return choose_barriers(Rules(pointers.operations, events, _conflict, _ANYTHING), after_waits)


def used_in_background(pointers: SharedPointers) -> frozenset[Value]:
    """The buffers that the asynchronous proxy reads or writes."""
    found: set[Value] = set()
    for operation in pointers.beginning(*BACKGROUND):
        found.update(*(pointers.of(operand) for operand in operation.operands))
    return frozenset(found)


# --- what operations do -------------------------------------------------------------------------------------------


def _events(pointers: SharedPointers) -> Iterator[tuple[Operation, list[Access]]]:
    touching: set[str] | None = None
    places = ConstantPlaces()
    for operation in pointers.beginning(*BARRIERS, *ACCESSES, "tt.call", *_OURS):
        name = operation.name
        if is_barrier(operation) or name in WAITS:
            yield operation, []
        elif name in ACCESSES:
            # What is done to another block's memory is ordered by barriers of the cluster, which the kernel has.
            if operation.operands[0] in pointers.remote:
                continue
            if buffers := pointers.of(operation.operands[0]):
                kind, place = _kind(operation), places.of(operation.operands[0])
                yield operation, [Access(kind, buffer, True, place=place) for buffer in buffers]
        elif name == "tt.call":
            touching = _functions_that_touch(pointers) if touching is None else touching
            if called_function(operation) in touching:
                yield operation, list(_ANYTHING)
        elif name.startswith(_OURS) and (accesses := list(_own_accesses(operation, pointers))):
            yield operation, accesses


def _kind(access: Operation) -> str:
    if access.name in LOADS:
        return _READ
    if access.name in STORES:
        return _WRITTEN
    kind = _KIND.search(access.details)
    is_used = any(result.uses for result in access.results)
    return kind[1] if kind and kind[1] in _COMMUTE and not is_used else _BOTH


def _own_accesses(operation: Operation, pointers: SharedPointers) -> Iterator[Access]:
    """Of Triton's operations on buffers, and of linked functions that got an address."""
    name = operation.name
    if name == "ttng.warp_group_dot_wait":
        yield Access(_READ, None, False)
        return
    is_function = name == "tt.extern_elementwise"
    if name.startswith(_UNTOUCHED) or (is_function and CLUSTER in operation.details):
        return
    if name == "ttg.local_alloc" and not operation.operands:
        return
    kind = next((kind for own, kind in _OWN.items() if name.startswith(own)), _BOTH)
    values = [*operation.operands, *(operation.results if name == "ttg.local_alloc" else ())]
    lasts = not name.startswith(BACKGROUND)
    for value in values:
        if is_function or value.type.startswith("!ttg.memdesc<"):
            yield from (Access(kind, buffer, False, lasts) for buffer in pointers.of(value))


def _functions_that_touch(pointers: SharedPointers) -> set[str]:
    """The names of functions that access buffers, by themselves or by others that they call."""
    found: set[str] = set()
    functions = {function_name(each): list(each.walk()) for each in pointers.named("tt.func")}
    changed = True
    while changed:
        before = len(found)
        for name, inside in functions.items():
            if any(each.name in ACCESSES and each.operands[0] in pointers.buffers for each in inside) or any(
                each.name.startswith(("ttg.local_", "ttg.async", "ttng.")) for each in inside
            ):
                found.add(name)
            if any(each.name == "tt.call" and called_function(each) in found for each in inside):
                found.add(name)
        changed = len(found) != before
    return found


def is_followed(wait: Operation) -> bool:
    """Whether a barrier stands right behind an operation."""
    operations = wait.parent.operations
    following = operations[operations.index(wait) + 1 :]
    return bool(following) and is_barrier(following[0])


# --- what meets what --------------------------------------------------------------------------------------------------


def _conflict(old: Access, new: Access) -> bool:
    if not (old.by_pointer or new.by_pointer):
        return False
    if old.buffer is not None and new.buffer is not None and old.buffer is not new.buffer:
        return False
    if old.kind == new.kind and old.kind not in (_WRITTEN, _BOTH):
        return False
    return not (old.place and new.place and _are_apart(old.place, new.place))


def _are_apart(a: Place, b: Place) -> bool:
    """Whether no element is in both places: of one address, or of one buffer's."""
    return _same_address(a[0], b[0]) and a[1].isdisjoint(b[1])


def _same_address(a: Value, b: Value) -> bool:
    """An address is asked for wherever the kernel points into a buffer."""
    while a is not b:
        first, second = a.definition, b.definition
        if first is None or second is None or first.name != second.name:
            return False
        if not first.name.startswith(("tti.", "arith.extui")):
            return False
        a, b = first.operands[0], second.operands[0]
    return True
