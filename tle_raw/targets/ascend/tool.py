"""``bishengir-compile``, Huawei's open compiler of Ascend IR: where it is, and one run of it.

The wheel ``ascendnpu-ir`` holds it for x86-64 and ARM. It lowers Linalg to HIVM, plans local memories, puts in
synchronisation, and hands the result to ``hivmc``, which is part of CANN and closed: without that it ends there, and
``--save-temps`` keeps what it would have handed over.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tle_raw.errors import LocalMemoryError, LoweringError, Row, SourceLocation, TLEError, ToolchainError
from tle_raw.knobs import knobs
from tle_raw.linker.processes.child_process import Limits, default_memory, run_child
from tle_raw.linker.processes.temporary_folder import temporary_folder
from tle_raw.linker.tools.wheels import package_folder, wheel_version

WHEEL, PACKAGE = "ascendnpu-ir", "ascendnpuir"
PROGRAM, OF_C310 = "bishengir-compile", "bishengir-compile-a5"  # the second for the 950 family
CLOSED = "hivmc"
RESULT = "module.hivm.opt.mlir"
_OPTIONS = ("--enable-triton-kernel-compile=true", "--enable-hfusion-compile=true", "--enable-hivm-compile=true")
_PLACED = re.compile(r'loc\("(?P<file>[^"]*)":(?P<line>\d+):(?P<column>\d+)\): error: (?P<message>[^\n]*)')
_OVERFLOW = re.compile(r"(\w+) overflow, requires (\d+) bits while (\d+) bits available")
# What it says because there is no `hivmc`, or of each run that failed.
_ALWAYS = ("Failed to run BiShengHIR pipeline", "External hivmc run fails")
_SPACES = {"ub": "UB", "cbuf": "L1", "cc": "L0C"}


@dataclass(frozen=True)
class Chip:
    """One as the compiler calls it."""

    name: str

    @property
    def is_c310(self) -> bool:
        return self.name.startswith("950")

    @property
    def option(self) -> str:
        name = {"910B": "910B3"}.get(self.name, self.name)
        return f"--target=Ascend{name}"


def find_compiler(chip: Chip) -> Path:
    """The compiler for a chip.

    Raises
    ------
    ToolchainError : it is not installed.
    """
    program = OF_C310 if chip.is_c310 else PROGRAM
    folder = package_folder(PACKAGE)
    found = folder / "bin" / program if folder else None
    if found is None or not found.exists():
        on_path = shutil.which(program)
        found = Path(on_path) if on_path else None
    if found is None:
        raise ToolchainError(
            f"kernels for Ascend need {program}, which was found neither in the wheel {WHEEL} nor on the PATH",
            hint=f"pip install {WHEEL}; what it would get is the text of the stage `linalg`",
        )
    return found


@cache
def compiler_identity() -> str:
    """Part of the cache key: which compiler it is, "" where there is none."""
    return wheel_version(WHEEL) or str(shutil.which(PROGRAM) or "")


def compile_linalg(text: str, chip: Chip) -> str:
    """The HIVM that ``hivmc`` would get.

    Raises
    ------
    ToolchainError : there is no compiler, or it crashed.
    LocalMemoryError : what the kernel keeps in a local memory does not fit; at the kernel's line.
    LoweringError : something else that the compiler refuses, at the kernel's line.
    """
    program = find_compiler(chip)
    with temporary_folder() as folder:
        source, kept = Path(folder) / "kernel.mlir", Path(folder) / "kept"
        source.write_text(text)
        kept.mkdir()
        # A closed compiler that is there would be run on the result: that is not what is asked here.
        environment = {"PATH": str(program.parent), "HOME": os.environ.get("HOME", "/")}
        done = run_child(
            [
                str(program), str(source), chip.option, *_OPTIONS, f"--save-temps={kept}",
                "-o", str(Path(folder) / "kernel.o"),
            ],
            limits=Limits(knobs.compile_timeout, default_memory()),
            environment=environment,
            merged=True,
        )  # fmt: skip
        result = kept / RESULT
        if result.exists():
            return result.read_text()
    raise _explained(done.output.decode("utf-8", "replace"), done.how, source)


def _explained(said: str, how: str, source: Path) -> TLEError:
    found = [match for match in _PLACED.finditer(said) if not any(words in match["message"] for words in _ALWAYS)]
    if not found:
        return ToolchainError(
            f"{PROGRAM} {how or 'left no result'}", log="\n".join(said.splitlines()[-30:]), hint="please report it"
        )
    first = found[0]
    overflow = _OVERFLOW.search(first["message"])
    place = None
    if first["file"] != str(source):
        place = SourceLocation(first["file"], int(first["line"]), int(first["column"]))
    if overflow is None:
        error: TLEError = LoweringError(f"{PROGRAM} refuses the kernel: {first['message']}")
    else:
        space = _SPACES.get(overflow[1].lower(), overflow[1])
        asked, there = (int(bits) // 8 for bits in (overflow[2], overflow[3]))
        error = LocalMemoryError(
            f"{first['message'].split('!')[0]}",
            table=[Row(f"bytes in {space}", f"at most {there}", str(asked))],
            hint="what is alive together must fit, buffers that the compiler adds among it: smaller tiles, in a loop",
        )
    return error.at(call_site=place) if place else error
