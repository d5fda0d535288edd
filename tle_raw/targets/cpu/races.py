"""Races: accesses of the same memory by two devices, or two blocks of a cluster, that nothing orders.

Each program has a clock, a number for every program: how much of that one's work comes before. A release of an address
leaves the clock there, an acquire takes it over. An access is in order with an earlier one of another program when the
clock knows the release that followed it. Atomics race, too, where the scope of one leaves the other's program out. All
is read from logs, when the programs are done: what ordered them has numbers, by which their pieces are gone through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import Any

from tle_raw.errors import RaceError, Row
from tle_raw.flir.cpu.access_kinds import ACQUIRE, ATOMIC, LOCAL, OF_PROGRAM, READ, RELEASE, WRITE
from tle_raw.targets.cpu.access_logs import LoggedProgram
from tle_raw.targets.cpu.arrays import Range
from tle_raw.targets.cpu.excerpts import excerpt

_SCOPES = LOCAL | OF_PROGRAM
_NARROW = ATOMIC | LOCAL  # whose scope leaves one of both programs out
_WORDS = {
    READ: "reads",
    WRITE: "writes",
    ATOMIC: "accesses with an atomic",
    _NARROW: "accesses with an atomic of too narrow a scope",
}
_CONFLICTS = {
    READ: (WRITE, ATOMIC, _NARROW),
    WRITE: (READ, WRITE, ATOMIC, _NARROW),
    ATOMIC: (READ, WRITE, _NARROW),
    _NARROW: (READ, WRITE, ATOMIC, _NARROW),
}
_BEGIN, _END = 32, 64  # of a program; no kinds of accesses
_HINT = "a barrier between them, or a signal by the one that the other waits for"
_HINT_OF_SCOPE = 'atomics have a scope that takes in both: "gpu", Triton\'s own choice, one device, "sys" all of them'
Place = tuple[int, int]


@dataclass(eq=False)
class Party:
    """A program, its number among all, and its clock once it has begun."""

    program: LoggedProgram
    number: int
    clock: Any = None


# Both programs, each with its entry's word, and the address.
Race = tuple[Party, int, Party, int, int]


@dataclass(frozen=True)
class _Step:
    """A piece of a program: accesses, behind what orders them."""

    place: Place
    party: Party
    kind: int
    key: Any
    accesses: Any  # [n, ENTRY_WORDS]


def find_race(programs: Sequence[LoggedProgram], memory: Range, described: Callable[[int], str]) -> RaceError | None:
    """The first race in a range of memory, between programs of different groups; ``described`` names an address."""
    if memory.start >= memory.end or len({program.group for program in programs}) < 2:
        return None
    found = _first_race(programs, memory)
    if found is None:
        return None
    wider = _first_race(programs, memory, every_scope=True)
    is_ordered = wider is None or _names(wider) != _names(found)
    return _error(*found, described, _HINT_OF_SCOPE if is_ordered else _HINT)


def _first_race(programs: Sequence[LoggedProgram], memory: Range, every_scope: bool = False) -> Race | None:
    """The first race; with ``every_scope`` as if all atomics were of system scope."""
    import numpy as np

    parties = [Party(program, number) for number, program in enumerate(programs)]
    known = _Known(parties, memory, 0 if every_scope else _narrow_scopes(programs))
    if not known.accessed.size:
        return None
    left: dict[Any, Any] = {}  # what releases have left, by what they were of
    done: dict[Any, Any] = {}
    for step in merge(*(_steps(party) for party in parties), key=lambda step: step.place):
        party = step.party
        if party.clock is None:
            party.clock = np.zeros(len(parties), np.int64)
            for launch in party.program.after:
                if launch in done:
                    np.maximum(party.clock, done[launch], out=party.clock)
            party.clock[party.number] = 1
        _order(step, party, left, done, 0 if every_scope else step.kind & _SCOPES)
        found = known.race(party, step.accesses)
        if found is not None:
            return found
    return None


def _narrow_scopes(programs: Sequence[LoggedProgram]) -> int:
    """Those that leave another one of the programs out."""
    return _SCOPES if len({program.device for program in programs}) > 1 else OF_PROGRAM


def _names(race: Race) -> tuple[int, int, int]:
    """Both programs and the byte: what tells one race from another."""
    first, _, second, _, address = race
    return first.number, second.number, address


def _order(step: _Step, party: Party, left: dict[Any, Any], done: dict[Any, Any], scope: int) -> None:
    import numpy as np

    kind = step.kind & ~_SCOPES
    of_all, of_device = (None, step.key), (party.program.device, step.key)
    keys = () if scope & OF_PROGRAM else (of_device,) if scope & LOCAL else (of_all, of_device)
    if kind == ACQUIRE:
        for key in keys:
            if key in left:
                np.maximum(party.clock, left[key], out=party.clock)
    elif kind == RELEASE:
        for key in keys:
            left[key] = np.maximum(left[key], party.clock) if key in left else party.clock.copy()
        party.clock[party.number] += 1
    elif kind == _END:
        launch = step.key
        done[launch] = np.maximum(done[launch], party.clock) if launch in done else party.clock.copy()


def _steps(party: Party) -> Iterator[_Step]:
    """A program's pieces, in its order; places never fall back."""
    import numpy as np

    entries = party.program.log.entries()
    kinds = entries[:, 0] & 0xFF
    orders = np.flatnonzero((kinds & ~_SCOPES) >= RELEASE)
    events: list[tuple[float, int, Any, Place]] = [
        (int(at), int(kinds[at]), int(entries[at, 1]), (2 * int(entries[at, 2]), 0)) for at in orders
    ]
    events += [(each.entry - 0.5, each.kind, each.key, each.place) for each in party.program.log.meetings]
    events.sort(key=lambda event: event[0])
    place: Place = party.program.log.began
    kind, key, start = _BEGIN, None, 0
    for at, next_kind, next_key, next_place in events:
        yield _Step(place, party, kind, key, entries[start : int(np.ceil(at))])
        place, kind, key, start = max(place, next_place), next_kind, next_key, int(np.floor(at)) + 1
    yield _Step(place, party, kind, key, entries[start:])
    yield _Step(max(place, party.program.log.ended), party, _END, party.program.launch, entries[:0])


class _Known:
    """The last accesses of each byte that is accessed, by kind and by who did them."""

    def __init__(self, parties: Sequence[Party], memory: Range, narrow: int) -> None:
        import numpy as np

        self.parties, self.memory, self._narrow = parties, memory, narrow
        groups = sorted({party.program.group for party in parties})
        self._places = {group: place for place, group in enumerate(groups)}
        found = [self._inside(party.program.log.entries()) for party in parties]
        self._unit = _common_unit(found)
        units = [self._units(entries)[0] for entries in found]
        self.accessed = np.unique(np.concatenate(units)) if units else np.zeros(0, np.int64)
        shape = len(groups), self.accessed.size
        # The number of the program and one, its clock, and the entry's word.
        self._last = {kind: np.zeros((3, *shape), np.int64) for kind in _CONFLICTS}

    def _inside(self, entries: Any) -> Any:
        """Those that are accesses of the memory; LOCAL with an atomic says that its scope is too narrow."""
        kinds, at = entries[:, 0] & 0xFF & ~_SCOPES, entries[:, 1]
        inside = entries[(kinds <= ATOMIC) & (at >= self.memory.start) & (at < self.memory.end)]
        is_narrow = (inside[:, 0] & self._narrow) != 0
        inside[:, 0] = (inside[:, 0] & ~_SCOPES) | (is_narrow * LOCAL)
        return inside

    def _units(self, entries: Any) -> tuple[Any, Any]:
        """The units of memory that are accessed, and by which entry."""
        import numpy as np

        counts = (entries[:, 0] >> 8 & 0xFF) // self._unit
        owners = np.repeat(np.arange(len(entries)), counts)
        within = np.arange(owners.size) - np.repeat(np.cumsum(counts) - counts, counts)
        return entries[owners, 1] // self._unit + within, owners

    def race(self, party: Party, entries: Any) -> Race | None:
        """Who raced with a piece of a program: both programs, their entries' words, and the address."""
        import numpy as np

        entries = self._inside(entries)
        if not len(entries):
            return None
        units, owners = self._units(entries)
        places, words = np.searchsorted(self.accessed, units), entries[owners, 0]
        group = self._places[party.program.group]
        for kind in _CONFLICTS:
            chosen = np.flatnonzero((words & 0xFF) == kind)
            for other in _CONFLICTS[kind] if chosen.size else ():
                programs, clocks, before = self._last[other][:, :, places[chosen]]
                known = np.concatenate(([0], party.clock))[programs]
                bad = (programs > 0) & (clocks > known)
                bad[group] = False
                if bad.any():
                    who, at = np.argwhere(bad)[0]
                    address = int(units[chosen[at]]) * self._unit
                    return (
                        self.parties[int(programs[who, at]) - 1],
                        int(before[who, at]),
                        party,
                        int(words[chosen[at]]),
                        address,
                    )
        for kind in _CONFLICTS:
            chosen = (words & 0xFF) == kind
            last = self._last[kind]
            last[0, group, places[chosen]] = party.number + 1
            last[1, group, places[chosen]] = party.clock[party.number]
            last[2, group, places[chosen]] = words[chosen]
        return None


def _common_unit(found: Sequence[Any]) -> int:
    """The largest power of two, 8 at most, in which all accesses are counted."""
    import numpy as np

    bits = 8
    for entries in found:
        if len(entries):
            bits |= int(np.bitwise_or.reduce(entries[:, 1] | entries[:, 0] >> 8 & 0xFF))
    return bits & -bits


def _error(
    first: Party, word: int, second: Party, other: int, address: int, described: Callable[[int], str], hint: str
) -> RaceError:
    rows, log = [], ""
    for party, entry in ((first, word), (second, other)):
        check = party.program.checks[(entry >> 16) - 1]
        where = str(check.get("file", "")), int(check.get("line", 0)), int(check.get("column", 0))
        does = f"{_WORDS[entry & 0xFF]} at {where[0]}:{where[1]}"
        rows.append(Row(party.program.name, "an order between the two", does))
        log += ("\n" if log else "") + excerpt(*where)
    return RaceError(
        f"a race: nothing orders two accesses of {described(address)}",
        kind="race",
        table=rows,
        hint=hint,
        log=log,
    )
