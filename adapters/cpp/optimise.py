"""The compiler's optimiser as a step of its own: what the front end has made of a unit comes back changed in between.

The front end is most of what a unit costs, and it runs once, however often its result is optimised: with other limits
for unrolling, say, where arrays would stay in memory. ``UNOPTIMISED`` is what it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tle_raw.adapters.cpp.toolchain import Toolchain
from tle_raw.linker.processes.run_compiler import Run, run_compiler

UNOPTIMISED = ("-Xclang", "-disable-llvm-passes")
_LEVEL = "-O3"
_OPTIMISERS = ("-O", "-funroll", "-fno-unroll", "-fvectorize", "-fno-vectorize", "-fslp", "-fno-slp")


def optimise(toolchain: Toolchain, made: Run, text: str, arch: str, flags: Sequence[str], timeout: float) -> Run:
    """What the front end has ``made``, with ``text`` optimised in place of its LLVM IR.

    ``flags`` are those of the whole command line; of these the optimiser gets its own.
    """
    command = (
        *toolchain.command, "-x", "ir", "-target", "nvptx64-nvidia-cuda", "-Xclang", "-target-cpu", "-Xclang", arch,
        "-fno-caret-diagnostics", "-fno-color-diagnostics", "-fmessage-length=0", _LEVEL, *_own(flags),
    )  # fmt: skip
    run = run_compiler(command, text, timeout)
    log = "\n".join(filter(None, (made.log.rstrip("\n"), run.log)))
    shown = tuple(_without(made.command, UNOPTIMISED))
    return replace(run, log=log, files=made.files, seconds=made.seconds + run.seconds, command=shown)


def _own(flags: Sequence[str]) -> list[str]:
    own: list[str] = []
    for before, flag in zip(("", *flags), flags, strict=False):
        if before == "-mllvm":
            own += ("-mllvm", flag)
        elif flag.startswith(_OPTIMISERS):
            own.append(flag)
    return own


def _without(command: Sequence[str], left_out: Sequence[str]) -> list[str]:
    found = next((i for i in range(len(command)) if tuple(command[i : i + len(left_out)]) == tuple(left_out)), None)
    return [*command] if found is None else [*command[:found], *command[found + len(left_out) :]]
