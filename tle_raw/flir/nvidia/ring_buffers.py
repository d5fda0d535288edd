"""Two slots for a shared buffer that a region fills anew in each iteration of a loop, where the region runs ahead.

While one iteration's slot is read, the next iteration's is filled. The buffer becomes one of two slots, and each
iteration works in its own::

    %slot = ttg.memdesc_index %buffer[(%i - first) / step % 2]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tle_raw.errors import ScheduleError
from tle_raw.flir.loop_body import LoopBody
from tle_raw.flir.operation_attributes import with_attributes
from tle_raw.flir.run_ahead import AHEAD
from tle_raw.linker.mlir.generic_operation import read_generic
from tle_raw.linker.mlir.text import location_of, value_names

SLOTS = 2
_ALLOC, _STORE, _LOAD, _VIEWS = "ttg.local_alloc", "ttg.local_store", "ttg.local_load", "ttg.memdesc_"
_MEMDESC = "!ttg.memdesc<"
_VARIABLE = re.compile(r"\^\w+\((%[\w$.\-]+): (i32|i64|index)")
_BOUNDS = re.compile(r'"scf\.for"\((%[\w$.\-#]+), %[\w$.\-#]+, (%[\w$.\-#]+)')


@dataclass(frozen=True)
class _Buffer:
    """A buffer: its name, the line of its allocation, its type, and the lines in the loop that use it."""

    name: str
    made: int
    type: str
    uses: tuple[int, ...]


def with_ring(body: LoopBody, lines: Sequence[str], result: str, parameter: str) -> list[str]:
    """The lines with two slots for the buffer that a region's result is stored into.

    Parameters
    ----------
    result : the value of the region's port. ``parameter`` : its name in the fragment, for errors.

    Raises
    ------
    ScheduleError : the buffer is used in another way than by this region, and by loads that follow it.
    """
    store = next((op for op in body.operations if op.name == _STORE and result in op.uses), None)
    if store is None:
        raise _refused(parameter, "what the region makes is not stored in it")
    buffer = _buffer(body, lines, read_generic(lines[store.begin]).operands[1], parameter)
    _check_uses(body, lines, buffer, store.begin, parameter)
    made = list(lines)
    ring = buffer.type.replace(_MEMDESC, f"{_MEMDESC}{SLOTS}x", 1)
    made[buffer.made] = made[buffer.made].replace(buffer.type, ring, 1)
    slot = f"%tle_slot_{body.begin}_{buffer.made}"
    for number in buffer.uses:
        made[number] = re.sub(rf"{re.escape(buffer.name)}(?![\w$.\-#])", slot, made[number])
    made[store.begin] = with_attributes(made[store.begin], {AHEAD: ""})
    first = body.operations[0].begin
    made[first] = "\n".join([*_index(lines, body, slot, buffer, ring), made[first]])
    return "\n".join(made).splitlines()


def _buffer(body: LoopBody, lines: Sequence[str], name: str, parameter: str) -> _Buffer:
    head = f'{name} = "{_ALLOC}"()'
    made = next((number for number, line in enumerate(lines) if line.lstrip().startswith(head)), -1)
    if made < 0 or body.begin <= made <= body.end:
        raise _refused(parameter, "it is no whole buffer that was allocated in front of the loop")
    uses = tuple(n for n, line in enumerate(lines) if n != made and name in value_names(line))
    return _Buffer(name, made, read_generic(lines[made]).result_types[0], uses)


def _check_uses(body: LoopBody, lines: Sequence[str], buffer: _Buffer, store: int, parameter: str) -> None:
    by_line = {operation.begin: operation for operation in body.operations if operation.begin == operation.end}
    for number in buffer.uses:
        operation = by_line.get(number)
        if operation is None:
            raise _refused(parameter, "it is used outside of the loop, or in a branch within it")
        views = [operation]
        if operation.name.startswith(_VIEWS):
            views = [each for each in body.operations if operation.result in each.uses]
        reads = all(each.name == _LOAD and "tle.told" not in lines[each.begin] for each in views)
        if number != store and not (number > store and reads):
            raise _refused(parameter, "something else than loads behind the region uses it")


def _index(lines: Sequence[str], body: LoopBody, slot: str, buffer: _Buffer, ring: str) -> Iterator[str]:
    label = next(line for line in lines[body.begin + 1 :] if line.lstrip().startswith("^"))
    variable, bounds = _VARIABLE.search(label), _BOUNDS.search(lines[body.begin])
    assert variable and bounds, lines[body.begin]
    name, type_ = variable.groups()
    first, step = bounds.groups()
    location = location_of(lines[buffer.made])
    pair = f"({type_}, {type_}) -> {type_}{location}"
    no_overflow = "<{overflowFlags = #arith.overflow<none>}>"
    yield f'{slot}_past = "arith.subi"({name}, {first}) {no_overflow} : {pair}'
    yield f'{slot}_count = "arith.divsi"({slot}_past, {step}) : {pair}'
    yield f'{slot}_slots = "arith.constant"() <{{value = {SLOTS} : {type_}}}> : () -> {type_}{location}'
    yield f'{slot}_own = "arith.remsi"({slot}_count, {slot}_slots) : {pair}'
    number = f"{slot}_own"
    if type_ != "i32":
        cast = "arith.trunci" if type_ == "i64" else "arith.index_cast"
        yield f'{slot}_number = "{cast}"({slot}_own) : ({type_}) -> i32{location}'
        number = f"{slot}_number"
    yield f'{slot} = "ttg.memdesc_index"({buffer.name}, {number}) : ({ring}, i32) -> {buffer.type}{location}'


def _refused(parameter: str, why: str) -> ScheduleError:
    return ScheduleError(
        f"the region fills the kernel's shared buffer `{parameter}`, which cannot get a slot for each iteration: {why}",
        hint="declare it as a Tile that the call returns, or run slots of a ring by barriers",
    )
