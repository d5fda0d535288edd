"""Waits for phases of barriers that cannot be: seen where the phase and the barrier are constants.

Two mistakes are found. A wait for the first phase of a barrier that nothing in front of it completes lasts for ever.
And a wait that names the same phase again, after one was completed in between, passes at once: it reads what is not
there yet. Phases and barriers that the kernel counts are not known here; on CPUs the counters themselves tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tle_raw.errors import Row
from tle_raw.flir.nvidia.barrier_slots import ALLOC, INDEX, INIT, LOAD, BarrierText, Slot
from tle_raw.linker.mlir.structure import Nest, Path, nests, paths, read_structure
from tle_raw.linker.mlir.text import operation_name, value_names

WAITS = "ttng.wait_barrier"
_ARRIVE, _EXPECT, _INVALIDATE = "ttng.arrive_barrier", "ttng.barrier_expect", "ttng.inval_barrier"
_COPIES = ("ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather")
# What may be done with a barrier beside these, and completes nothing.
_ELSE = (
    *(ALLOC, INDEX, INIT, "ttg.local_store", "ttg.local_dealloc", "tt.splat", "tt.extern_elementwise"),
    "ttng.async_copy_mbarrier_arrive",  # which takes back what it adds
)
_ADDRESS = "tti.experimental_memdesc_to_i"
_WORD = "1xi64,"
_BARRIER = re.compile(r"memdesc<(?:\d+x)?1xi64,")
# As Triton prints it, and in generic form.
_COUNT = re.compile(r"ttng\.\w+ %[\w$.\-#]+, (\d+)|\bcount = (\d+) : i32")
_TRUE = re.compile(r'arith\.constant(?: |"\(\) <\{value = )true\b')


@dataclass(frozen=True)
class _Event:
    """A wait, or what may complete a phase.

    ``slot`` is None where it is not known; so is ``parity``, of a wait, and ``arrivals``, of the others.
    """

    line: int
    path: Path
    alloc: int
    slot: int | None
    waits: bool
    parity: int | None = None
    arrivals: int | None = None

    def may_be(self, other: _Event) -> bool:
        """Whether both may be of one barrier."""
        return self.alloc == other.alloc and (self.slot is None or other.slot is None or self.slot == other.slot)


def check_phases(lines: Sequence[str]) -> None:
    """Of TritonGPU text, as Triton prints it or in generic form.

    Raises
    ------
    ArgumentTypeError : a wait for a phase that cannot be, at the kernel's line.
    """
    text = BarrierText(lines)
    if not _names_phases(text):
        return
    structure = read_structure(list(lines))
    around = {nest.begin: nest for nest in nests(structure)}
    events = _events(text, paths(structure))
    if events is None:
        return
    counts = _counts(text)
    for event in events:
        if event.waits and event.slot is not None and (event.alloc, event.slot) in counts and event.parity is not None:
            completing = [other for other in events if not other.waits and event.may_be(other)]
            same = [other for other in events if other.waits and event.may_be(other)]
            _check_begun(text, event, completing, around)
            _check_next(text, event, completing, same, counts[event.alloc, event.slot])
            _check_loop(text, event, completing, same, counts[event.alloc, event.slot], around)


def _names_phases(text: BarrierText) -> bool:
    """Whether any wait is for a constant phase: of the others nothing is known."""
    waits = (number for number, line in enumerate(text.lines) if WAITS in line and operation_name(line) == WAITS)
    return any(text.constant(value_names(text.lines[number])[1], number) is not None for number in waits)


def _check_begun(text: BarrierText, wait: _Event, completing: Sequence[_Event], around: Mapping[int, Nest]) -> None:
    """Something in front of a wait for the first phase may complete it."""
    if wait.parity != 0 or any(other.line < wait.line for other in completing):
        return
    for other in completing:  # behind it in the text; in a loop it may have come in the iteration before
        loops = [at for at in wait.path if at in other.path and around[at[0]].is_loop]
        if loops and any(not around[begin].is_loop for begin, _ in wait.path[wait.path.index(loops[0]) :]):
            return
    raise text.failed(
        wait.line,
        "a wait for a phase of a barrier that nothing in front of it completes: it would last for ever",
        Row("in front of the wait", "arrivals, or copies that carry the barrier", "none"),
        hint="init=tle.gpu.READY lets the wait of use 0 pass",
    )


def _check_next(
    text: BarrierText, wait: _Event, completing: Sequence[_Event], same: Sequence[_Event], count: int
) -> None:
    """The wait that follows in the same block names the next phase where one was completed between the two."""
    following = next((other for other in same if other.line > wait.line), None)
    if following is None or following.path != wait.path or following.parity != wait.parity or following.slot is None:
        return
    between = [other for other in completing if wait.line < other.line < following.line]
    if _completes_oddly(between, wait.path, count):
        raise _repeated(text, following.line)


def _check_loop(
    text: BarrierText,
    wait: _Event,
    completing: Sequence[_Event],
    same: Sequence[_Event],
    count: int,
    around: Mapping[int, Nest],
) -> None:
    """A wait in a loop that completes a phase each time cannot name one and the same phase."""
    loop = around[wait.path[-1][0]]
    if not loop.is_loop or loop.begin < wait.alloc < loop.end:
        return
    inside = [other for other in same if loop.begin < other.line < loop.end]
    if any(other.parity != wait.parity or other.slot is None for other in inside):
        return
    if _completes_oddly([other for other in completing if loop.begin < other.line < loop.end], wait.path, count):
        raise _repeated(text, wait.line)


def _completes_oddly(events: Sequence[_Event], path: Path, count: int) -> bool:
    """Whether they certainly complete an odd number of phases, so that the parity changes."""
    arrivals = 0
    for event in events:
        if event.arrivals is None or event.slot is None or event.path != path:
            return False
        arrivals += event.arrivals
    return arrivals % count == 0 and arrivals // count % 2 == 1


def _repeated(text: BarrierText, line: int) -> Exception:
    return text.failed(
        line,
        "a wait for a phase that was waited for before, and another phase is under way: it passes at once",
        Row("phaseIdx", "the use of the barrier: 0, 1, 2, ...", "the same constant again"),
        hint="count the uses: i // S for slot i % S of a ring",
    )


def _counts(text: BarrierText) -> dict[Slot, int]:
    """The arrivals of a phase, of barriers that are made once and never taken back."""
    found: dict[Slot, int] = {}
    gone = set()
    for number, line in enumerate(text.lines):
        kind = operation_name(line) if INIT in line or _INVALIDATE in line else ""
        if kind:
            slot, count = text.slot(value_names(line)[0], number), _COUNT.search(line)
            if slot is None:
                continue
            if kind == _INVALIDATE or slot in found or count is None:
                gone.add(slot)
            else:
                found[slot] = _number(count)
    return {slot: count for slot, count in found.items() if slot not in gone}


def _events(text: BarrierText, places: Mapping[int, Path]) -> list[_Event] | None:
    """In the order of the text; None where barriers go ways that are not followed: by loops, calls, partitions."""
    found = []
    for number, line in enumerate(text.lines):
        if _WORD not in line or line.startswith("#") or not _BARRIER.search(line):
            continue
        kind = operation_name(line)
        if kind in _ELSE or kind.startswith(_ADDRESS):
            continue
        event = _event(text, number, line, kind, places.get(number, ()))
        if event is None:
            return None
        if kind != _INVALIDATE:
            found.append(event)
    return found


def _number(count: re.Match[str]) -> int:
    return int(count[1] or count[2])


def _event(text: BarrierText, number: int, line: str, kind: str, path: Path) -> _Event | None:
    names = value_names(line)
    if kind in (WAITS, _ARRIVE, _EXPECT, _INVALIDATE):
        alloc, slot = text.parts(names[0], number)
        if alloc < 0:
            return None
        if kind == WAITS:
            phase = text.constant(names[1], number)
            return _Event(number, path, alloc, slot, True, None if phase is None else phase & 1)
        count, asked = _COUNT.search(line), text.definition(names[-1], number) if len(names) > 1 else number
        certain = len(names) == 1 or (asked >= 0 and _TRUE.search(text.lines[asked]) is not None)
        arrivals = 1 if kind == _EXPECT else _number(count) if count else None
        return _Event(number, path, alloc, slot, False, arrivals=arrivals if certain else None)
    if kind in _COPIES or kind == LOAD:
        for name in names[1:] if kind == LOAD else names:
            alloc, slot = text.parts(name, number)
            if alloc >= 0 and _BARRIER.search(text.lines[alloc]):
                return _Event(number, path, alloc, slot, False, arrivals=0 if kind in _COPIES else None)
    return None
