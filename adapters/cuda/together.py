"""Functions of one source that a kernel calls are compiled at once: the first compilation holds the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tle_raw.adapters.cpp.source_lines import LABEL
from tle_raw.adapters.cuda.wrapper import Unit
from tle_raw.fragments.adapter import Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.linker.llvm.cut import cut
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.processes.run_compiler import Run
from tle_raw.thread_lock import ThreadLock

MOST_GROUPS = 16
_LABELLED = f'#line 1 "{LABEL}"\n'


@dataclass
class Together:
    """Calls of one source for one GPU. ``runs`` holds what was compiled, by the entries' names."""

    calls: Sequence[tuple[Source, BoundSignature]]
    lock: ThreadLock = field(default_factory=ThreadLock)
    runs: dict[str, Run] = field(default_factory=dict)

    def run(
        self, unit: Unit, unit_of: Callable[[Source, BoundSignature], Unit | None], compile_with: Callable[[str], Run]
    ) -> Run | None:
        """The compilation of one call; None where it has to be compiled alone.

        Parameters
        ----------
        unit : the call's own.
        unit_of : another call's, or None where that is not compiled so.
        compile_with : compiles the unit with more text behind it.
        """
        with self.lock:
            if not self.runs:
                others = [each for call in self.calls if (each := unit_of(*call)) is not None]
                others = [each for each in others if each.beginning == unit.beginning and each.entry != unit.entry]
                if not others:
                    return None
                run = compile_with("".join(_line(each) + each.text[len(each.beginning) :] for each in others))
                if run.returncode != 0:  # what fails together may be right alone, and whose fault it is each will tell
                    self.runs = {"": run}
                    return None
                self.runs = {each.entry: run for each in (unit, *others)}
                return _own(run, unit.entry)
            known = self.runs.get(unit.entry)
            return replace(_own(known, unit.entry), seconds=0.0) if known else None


def _line(unit: Unit) -> str:
    """The line on which the unit's function would stand if it was compiled alone: PTX tells it."""
    return f'#line {unit.beginning.rpartition(_LABELLED)[2].count(chr(10)) + 1} "{LABEL}"\n'


def _own(run: Run, entry: str) -> Run:
    return replace(run, text=cut(read_module(run.text), [entry]).text)


class Groups:
    """The groups that kernels have asked for, the latest few."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], Together] = {}
        self._lock = ThreadLock()

    def expect(self, calls: Sequence[tuple[Source, BoundSignature]], kind: object) -> None:
        """Calls of one kernel, for one kind of target."""
        sources: dict[tuple[object, ...], list[tuple[Source, BoundSignature]]] = {}
        for source, bound in calls:
            if not bound.names:  # names are macros, which differ from call to call
                sources.setdefault(_key(source, kind), []).append((source, bound))
        with self._lock:
            for key, own in sources.items():
                if len(own) > 1:
                    self._groups.pop(key, None)
                    self._groups[key] = Together(own)
            while len(self._groups) > MOST_GROUPS:
                self._groups.pop(next(iter(self._groups)))

    def of(self, source: Source, kind: object) -> Together | None:
        """The group that a call of this source belongs to."""
        with self._lock:
            return self._groups.get(_key(source, kind))


def _key(source: Source, kind: object) -> tuple[object, ...]:
    settings = tuple(pair for pair in source.settings if pair[0] != "symbol")
    return source.text, settings, source.location, kind
