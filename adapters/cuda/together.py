"""Functions of one source that are asked for at once are compiled at once: the first compilation holds the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tle_raw.adapters.cpp.source_lines import LABEL
from tle_raw.adapters.cpp.toolchain import Toolchain, find_toolchain
from tle_raw.adapters.cuda.wrapper import Unit, common_prologue
from tle_raw.fragments.adapter import Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.linker.llvm.cut import cut, without_unreached_metadata
from tle_raw.linker.llvm.text import Module, read_module
from tle_raw.linker.processes.run_compiler import Run
from tle_raw.thread_lock import ThreadLock

MOST_GROUPS = 16
_LABELLED = f'#line 1 "{LABEL}"\n'


@dataclass
class Together:
    """Calls of one source for one GPU. ``runs`` holds what was compiled, by the entries' names.

    ``prologue`` stands in front of the code for all of them; empty where what each has alone is the same.
    """

    calls: Sequence[tuple[Source, BoundSignature]]
    prologue: Sequence[str] = ()
    lock: ThreadLock = field(default_factory=ThreadLock)
    runs: dict[str, Run] = field(default_factory=dict)
    module: Module | None = None  # of all of them

    @cached_property
    def toolchain(self) -> Toolchain:
        """What compiles them."""
        return find_toolchain()

    @cached_property
    def identity(self) -> str:
        """Of the toolchain."""
        return self.toolchain.identity()

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
                self.module = read_module(run.text)
                return self._own(run, unit.entry)
            known = self.runs.get(unit.entry)
            return replace(self._own(known, unit.entry), seconds=0.0) if known else None

    def _own(self, run: Run, entry: str) -> Run:
        assert self.module is not None
        return replace(run, text=without_unreached_metadata(cut(self.module, [entry])).text)


def _line(unit: Unit) -> str:
    """The line on which the unit's function would stand if it was compiled alone: PTX tells it."""
    return f'#line {unit.beginning.rpartition(_LABELLED)[2].count(chr(10)) + 1} "{LABEL}"\n'


CallKey = tuple[object, ...]


class Groups:
    """The groups that kernels and packers have asked for, the latest few."""

    def __init__(self) -> None:
        self._groups: dict[CallKey, Together] = {}
        self._lock = ThreadLock()

    def expect(
        self,
        calls: Sequence[tuple[Source, BoundSignature]],
        kind: object,
        is_plain: Callable[[Source, BoundSignature], bool],
        passes: Sequence[object] = (False,),
    ) -> None:
        """Calls that will be asked for, for one kind of target.

        ``is_plain`` says of a call with names that its code asks for none of their macros, which differ from call to
        call. ``passes`` are the ways in which each may be compiled.
        """
        sources: dict[tuple[object, ...], list[tuple[Source, BoundSignature]]] = {}
        for source, bound in calls:
            if not bound.names or is_plain(source, bound):
                sources.setdefault(_key(source, kind), []).append((source, bound))
        with self._lock:
            for own in sources.values():
                if len(own) > 1:
                    bounds = [bound for _, bound in own]
                    prologue = common_prologue(bounds) if any(bound.names for bound in bounds) else ()
                    for each in passes:
                        self._add(own, kind, each, Together(own, prologue))

    def of(self, source: Source, bound: BoundSignature, kind: object, way: object = False) -> Together | None:
        """The group that a call belongs to."""
        with self._lock:
            return self._groups.get(_call_key(source, bound, kind, way))

    def _add(self, calls: Sequence[tuple[Source, BoundSignature]], kind: object, way: object, group: Together) -> None:
        for source, bound in calls:
            key = _call_key(source, bound, kind, way)
            self._groups.pop(key, None)
            self._groups[key] = group
        known = dict.fromkeys(map(id, self._groups.values()))
        old = set(list(known)[:-MOST_GROUPS])
        self._groups = {key: each for key, each in self._groups.items() if id(each) not in old}


def _call_key(source: Source, bound: BoundSignature, kind: object, way: object) -> CallKey:
    return (*_key(source, kind), source.symbol, bound.to_json(), way)


def _key(source: Source, kind: object) -> CallKey:
    settings = tuple(pair for pair in source.settings if pair[0] != "symbol")
    return source.text, settings, source.location, kind
