"""A simulator of Tenstorrent cards: compiles the five files of a program with clang and runs them on this machine.

>>> from tle_raw.targets.tenstorrent.simulator import build_program, run_program
>>> executable = build_program(folder)            # holds main.cpp, reader.cpp, compute.cpp, writer.cpp
>>> run_program(executable, [Path("a.bin"), Path("b.bin"), Path("c.bin")], timeline="cores.svg")

``include/`` has the headers that kernels and host programs ask for, under the SDK's names; ``runtime/`` is what they
call, and becomes one object in the cache. docs/tenstorrent-simulator.md says what is checked and what is estimated.
"""

from __future__ import annotations

from tle_raw.targets.tenstorrent.simulator.build import build_program
from tle_raw.targets.tenstorrent.simulator.run import Ran, SimulationError, run_program

__all__ = ["Ran", "SimulationError", "build_program", "run_program"]
