"""Ports a file in a process of its own: whatever the file does, the tool lives on and tells of it."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tle_raw.errors import DialectError, FragmentSourceError, TLEError
from tle_raw.fragments.adapter import PortingAdapter
from tle_raw.linker.processes.child_process import GIB, Finished, Limits, python_child, run_child
from tle_raw.linker.processes.temporary_folder import temporary_folder
from tle_raw.porting import Note, Ported, PortRequest, Skipped, TritonFile
from tle_raw.registry import adapter_names, find_adapter

CHILD = Path(__file__).with_name("child.py")
_LOG_LINES = 12
_LARGEST_FILE = 16 * GIB


@dataclass(frozen=True)
class Outcome:
    """All that was said. ``text`` is "" and ``error`` is set where it ended before its end."""

    ported: tuple[Ported, ...]
    skipped: tuple[Skipped, ...]
    text: str
    error: TLEError | None
    notes: tuple[str, ...] = ()


def porting_dialect(file: Path, named: str = "") -> str:
    """The dialect that a file is to be ported from.

    Raises
    ------
    FragmentSourceError : there is no such file. DialectError : no dialect ports it.
    """
    if not file.is_file():
        raise FragmentSourceError(f"no such file: {file}")
    adapters = {name: find_adapter(name) for name in ([named] if named else adapter_names())}
    porting = {name: a for name, a in adapters.items() if isinstance(a, PortingAdapter)}
    if named:
        if not porting:
            raise DialectError(f"files of dialect {named!r} cannot be ported")
        return named
    text = file.read_text(encoding="utf-8", errors="replace")
    found = [name for name, adapter in porting.items() if adapter.can_port(text)]
    if len(found) != 1:
        raise DialectError(
            f"{file} {'is of several dialects' if found else 'imports no language that can be ported'}",
            hint=f"name it: --dialect {'|'.join(found or porting)}",
        )
    return found[0]


def port(dialect: str, request: PortRequest, limit: float) -> Outcome:
    """Run the file, look at its programs, and write their Triton file, within ``limit`` seconds."""
    with temporary_folder("tle-raw-port-") as folder:
        question, answers = Path(folder, "question"), Path(folder, "answers")
        question.write_bytes(pickle.dumps((dialect, request)))
        answers.touch()
        limits = Limits(limit, file=_LARGEST_FILE)
        command = python_child(CHILD, str(question), str(answers), limits=limits)
        # The user's own program: it runs here, with its own environment and the memory that it wants.
        done = run_child(command, limits=limits, folder=Path.cwd(), environment=os.environ, merged=True)
        said = list(_read(answers))
        failed = _failure(done, limit, request)
    errors = [answer for answer in said if isinstance(answer, TLEError)]
    return Outcome(
        tuple(a for a in said if isinstance(a, Ported)),
        tuple(a for a in said if isinstance(a, Skipped)),
        next((a.text for a in said if isinstance(a, TritonFile)), ""),
        next(iter(errors), failed),
        tuple(a.text for a in said if isinstance(a, Note)),
    )


def _read(answers: Path) -> Iterator[Any]:
    with answers.open("rb") as file:
        while True:
            try:
                yield pickle.load(file)
            except (EOFError, pickle.UnpicklingError):  # the last one may be half written
                return


def _failure(done: Finished, limit: float, request: PortRequest) -> TLEError | None:
    if not done.how:
        return None
    if done.returncode is None:
        return FragmentSourceError(f"{request.file} did not end within {limit:g} seconds", hint="--limit SECONDS")
    tail = done.output.decode("utf-8", "replace").splitlines()[-_LOG_LINES:]
    return FragmentSourceError(f"the process that ran {request.file} {done.how}", log="\n".join(tail))
