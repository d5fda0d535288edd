"""When a buffer's value is no longer needed: behind which operation its pages are given back.

A queue's writer and its reader must agree at every turn of a loop: at a loop's begin a buffer either holds a value or
does not, whichever way it was reached. ``lifetimes`` finds the places; ``drops`` are values that nobody reads before
the next one is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tle_raw.errors import UnsupportedFeatureError
from tle_raw.targets.tenstorrent.blocks import Choice, Repeat, defined, used
from tle_raw.targets.tenstorrent.ir import walk


@dataclass
class Lifetimes:
    """``after[key]`` and ``before[key]`` name the buffers given back behind and before a statement; the key of an
    operation is its number, that of a loop or a branch ("loop", its first operation's number), of an arm's begin
    ("arm", number)."""

    after: dict[Any, list[str]] = field(default_factory=dict)
    before: dict[Any, list[str]] = field(default_factory=dict)
    undefined: set[str] = field(default_factory=set)

    def add(self, where: dict[Any, list[str]], key: Any, name: str) -> None:
        where.setdefault(key, []).append(name)


def key_of(statement: Any) -> Any:
    """The key of a statement in :class:`Lifetimes`."""
    if isinstance(statement, (Repeat, Choice)):
        inner = next((s.node for s in walk((statement,)) if getattr(s, "node", -1) >= 0), -1)
        return (type(statement).__name__, inner)
    return getattr(statement, "node", None)


def find_lifetimes(body: tuple[Any, ...]) -> Lifetimes:
    """Of all buffers of a body.

    Raises
    ------
    UnsupportedFeatureError : a branch defines a buffer that is read behind it, and the other arm does not.
    """
    found = Lifetimes()
    names = dict.fromkeys(name for s in walk(body) for name in (defined(s), *used(s)) if name)
    for name in names:
        _Walk(found, name).run(body, live=False, occupied=False)
    return found


class _Walk:
    """One buffer's way through a body."""

    def __init__(self, found: Lifetimes, name: str) -> None:
        self.found, self.name = found, name

    def run(self, body: tuple[Any, ...], *, live: bool, occupied: bool) -> None:
        """``live``: the value is needed behind the body; ``occupied``: there is one before it."""
        needed = self._needed(body, live)
        for place, statement in enumerate(body):
            after = needed[place + 1]
            if isinstance(statement, Repeat):
                occupied = self._loop(statement, after, occupied)
            elif isinstance(statement, Choice):
                occupied = self._branch(statement, after, occupied)
            else:
                occupied = self._one(statement, after, occupied)
        if occupied and not live and body and not self._mentioned(body):
            self.found.add(self.found.after, key_of(body[-1]), self.name)

    def _mentioned(self, body: tuple[Any, ...]) -> bool:
        return any(self.name in (defined(s), *used(s)) for s in walk(body))

    def _defines(self, statement: Any) -> bool:
        return any(defined(s) == self.name for s in walk((statement,)))

    def _needed(self, body: tuple[Any, ...], live: bool) -> list[bool]:
        """Before each statement, and behind the last, whether the value there is read later."""
        needed = [live]
        for statement in reversed(body):
            after = needed[0]
            needed.insert(0, self._live_before(statement, after))
        return needed

    def _live_before(self, statement: Any, after: bool) -> bool:
        if isinstance(statement, Repeat):
            if not self._defines(statement):
                return after or self._mentioned(statement.body)
            exposed = self._needed(statement.body, False)[0]
            return exposed or after  # a value from before must be there, for the queue to be in step
        if isinstance(statement, Choice):
            arms = [self._needed(arm, after)[0] for arm in (statement.then, statement.otherwise)]
            return any(arms)
        if self.name in used(statement):
            return True
        return after and defined(statement) != self.name

    def _one(self, statement: Any, after: bool, occupied: bool) -> bool:
        reads, defines = self.name in used(statement), defined(statement) == self.name
        if defines:
            if occupied:
                where = self.found.after if reads else self.found.before
                self.found.add(where, statement.node, self.name)
            return True
        if reads and not after:
            self.found.add(self.found.after, statement.node, self.name)
            return False
        return occupied

    def _loop(self, loop: Repeat, after: bool, occupied: bool) -> bool:
        if not self._mentioned(loop.body):
            return occupied
        if not self._defines(loop):
            if not after:
                self.found.add(self.found.after, key_of(loop), self.name)
            return after
        carried = after or self._needed(loop.body, False)[0]
        if carried and not occupied:
            self.found.undefined.add(self.name)
        self.run(loop.body, live=carried, occupied=carried)
        if carried and not after:
            self.found.add(self.found.after, key_of(loop), self.name)
        return after

    def _branch(self, branch: Choice, after: bool, occupied: bool) -> bool:
        arms = (branch.then, branch.otherwise)
        if not any(self._mentioned(arm) for arm in arms):
            return occupied
        if not self._defines(branch):
            if not after:
                self.found.add(self.found.after, key_of(branch), self.name)
            return after
        for arm in arms:
            if not self._mentioned(arm):
                if occupied and not after:
                    raise UnsupportedFeatureError(f"one side of a branch uses up `{self.name}`, the other does not")
                if after and not occupied:
                    raise UnsupportedFeatureError(f"`{self.name}` is given a value on one side of a branch only")
                continue
            self.run(arm, live=after, occupied=occupied)
        return after
