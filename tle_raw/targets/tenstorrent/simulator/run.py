"""Runs programs that ``build_program`` made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tle_raw.errors import TLEError
from tle_raw.linker.processes.child_process import Limits, clean_environment, run_child
from tle_raw.linker.processes.temporary_folder import temporary_folder

FAILURE_STATUS = 3  # runtime/failure.hpp


class SimulationError(TLEError):
    """A program did what the hardware does not allow, never ended, or failed by itself; the message says which kernel
    of which core, and where."""


@dataclass(frozen=True)
class Ran:
    """A run that went well.

    ``messages`` is what the program and the compiler of its kernels printed; ``launches`` has for each launch the
    estimate of cycles, as docs/tenstorrent-simulator.md describes it.
    """

    messages: str
    launches: tuple[dict[str, Any], ...]


def run_program(
    executable: str | Path,
    arguments: Sequence[str | Path] = (),
    *,
    folder: str | Path | None = None,
    timeline: str | Path | None = None,
    architecture: str = "wormhole_b0",
    threads: bool = False,
    seconds: float = 120.0,
) -> Ran:
    """Run a program; its kernels are opened in ``folder``, by default that of the program.

    Parameters
    ----------
    arguments : files as paths, from the current folder; words as they are.
    timeline : a picture of what each core did when, as SVG, is written here.
    architecture : "wormhole_b0" or "blackhole".
    threads : each kernel of each core on a thread of its own, else all take turns on one.
    seconds : after which it is ended. Deadlocks are noticed by themselves, at once.

    Raises
    ------
    SimulationError : it did not end well.
    """
    program = Path(executable).absolute()
    with temporary_folder() as name:
        report = Path(name, "report.jsonl")
        # Compiled kernels go to this folder, and with it.
        settings = {"TT_SIM_ARCH": architecture, "TT_SIM_REPORT": str(report), "TMPDIR": name}
        if threads:
            settings["TT_SIM_THREADS"] = "1"
        if timeline is not None:
            settings["TT_SIM_TIMELINE"] = str(Path(timeline).absolute())
        run = run_child(
            (str(program), *(str(a.absolute()) if isinstance(a, Path) else a for a in arguments)),
            limits=Limits(seconds),
            folder=Path(folder).absolute() if folder else program.parent,
            environment=clean_environment() | settings,
            merged=True,
        )
        said = run.output.decode("utf-8", "replace")
        launches = report.read_text().splitlines() if report.is_file() else []
    if run.returncode == FAILURE_STATUS:
        raise SimulationError(said.strip())
    if run.how:
        raise SimulationError(f"the program {run.how}", log=said)
    return Ran(said, tuple(json.loads(line) for line in launches))
