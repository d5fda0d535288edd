"""Porting a file of another language to Triton: what an adapter is asked, and what it answers.

An adapter's ``port`` runs the user's file, so it runs in a process of its own (``run.py``, ``child.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tle_raw.errors import SourceLocation


@dataclass(frozen=True)
class PortRequest:
    """``tle-raw port``.

    Attributes
    ----------
    file : the user's file; ``name`` is the one object of it that is wanted, "" for all.
    output : where the Triton file is to lie: it finds the user's file from there.
    arguments : for functions that build programs, by ``parameter`` or ``function:parameter``.
    target : the GPU that programs are compiled for, to see that they compile.
    module : the file as the user named it, where that is a module's name. ``words`` : its own command line.
    """

    file: Path
    output: Path
    name: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    target: str = "cuda:90"
    module: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Obstacle:
    """Something that stands in the way, and its line."""

    message: str
    place: SourceLocation | None = None
    hint: str = ""


@dataclass(frozen=True)
class Way:
    """What became of a program on one target. ``route`` is "" where it has none, and ``facts`` says why."""

    target: str
    route: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ported:
    """One program of the file.

    Attributes
    ----------
    name : how the Triton file calls it; ``program`` its own name.
    facts : what it is, by title: its grid, its parameters.
    ways : the GPU's first; ``obstacles`` is what keeps it from a better one, or from any.
    """

    name: str
    program: str
    place: SourceLocation | None
    facts: tuple[tuple[str, str], ...] = ()
    ways: tuple[Way, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()

    @property
    def route(self) -> str:
        """On the GPU; "" where it has none."""
        return self.ways[0].route if self.ways else ""


@dataclass(frozen=True)
class Skipped:
    """Something in the file that was not run, or not looked at."""

    what: str
    reason: str
    place: SourceLocation | None = None
    hint: str = ""


@dataclass(frozen=True)
class Note:
    """Something about the file as a whole."""

    text: str


@dataclass(frozen=True)
class TritonFile:
    """The text of the file that calls the programs as regions: the last thing that an adapter says."""

    text: str


Answer = Ported | Skipped | Note | TritonFile
