"""Compile and link three kernels as a card's host library would: five programs for five RISC-V cores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tle_raw.errors import CompilationFailed
from tle_raw.linker.processes.temporary_folder import temporary_folder
from tle_raw.targets.tenstorrent.kernel_api import OPERATIONS, Release, Unit
from tle_raw.targets.tenstorrent.real_headers.compiler import STAND_INS, Compiler
from tle_raw.targets.tenstorrent.real_headers.jit_files import write_jit_files

_FIRMWARE = "hw/firmware/src/tt-1xx"
_OF_ONE_CORE = {"noc": "brisc", "start": "ncrisc"}
_DEBUGGING = re.compile(r"(?m)^\s*\.(end)?func\b.*$")  # directives that clang's assembler lacks
_ERROR = re.compile(r"(?m)^.*\berror: .*$")


@dataclass(frozen=True)
class Program:
    """One of the five: whose kernel it is, the core that runs it, and what the vendor's build defines for it."""

    role: str
    core: str
    wrapper: str
    defines: tuple[str, ...]
    part: str = ""

    @property
    def name(self) -> str:
        return f"{self.role} ({self.part})" if self.part else self.role


def _programs() -> Iterator[Program]:
    noc = ("NOC_INDEX={}", "NOC_MODE=0")
    for index, (role, core) in enumerate((("reader", "brisc"), ("writer", "ncrisc"))):
        names = (f"COMPILE_FOR_{core.upper()}", f"PROCESSOR_INDEX={index}", *(each.format(index) for each in noc))
        yield Program(role, core, f"{core}k.cc", names)
    for index, part in enumerate(("unpack", "math", "pack")):
        names = (f"UCK_CHLKC_{part.upper()}", f"TRISC_{part.upper()}", f"NAMESPACE=chlkc_{part}")
        names += (f"COMPILE_FOR_TRISC={index}", f"PROCESSOR_INDEX={2 + index}")
        yield Program("compute", f"trisc{index}", "trisck.cc", names, part)


PROGRAMS = tuple(_programs())


@dataclass(frozen=True)
class Outcome:
    """What became of one program.

    Attributes
    ----------
    state : ``links``, ``compiles``, ``fails``, or ``needs sfpi.h`` where its code is of the vector engine, so that
        the vendor's own compiler is needed.
    log : the errors.
    """

    program: Program
    state: str
    log: str = ""


@dataclass(frozen=True)
class Trio:
    """The kernels of a program, and what the host says about them when it creates them.

    Attributes
    ----------
    sources : text by role.
    words : compile-time words by role: of each accessor its configuration and its page's bytes.
    formats : of circular buffers, by their numbers.
    """

    sources: Mapping[str, str]
    words: Mapping[str, Sequence[int]]
    formats: Mapping[int, str]
    fp32_registers: bool = False


def check(
    trio: Trio, compiler: Compiler, release: Release, *, link: bool = True, folder: Path | None = None
) -> list[Outcome]:
    """Compile the five programs, and link those that compile.

    Parameters
    ----------
    folder : an empty one, in which ``CORE/kernel.elf`` is left of each program that links.

    Raises
    ------
    CompilationFailed : the vendor's own support code does not compile.
    """
    with temporary_folder() as name:
        folder = folder or Path(name)
        base = _support(compiler, folder) if link else {}
        return [
            _check_one(trio, program, compiler, release, folder, base)
            for program in PROGRAMS
            if program.role in trio.sources
        ]


def uses_vector_engine(source: str, release: Release) -> bool:
    """Whether a compute kernel includes a header of the vector engine's operations."""
    headers = {
        release.headers[name] for name, each in OPERATIONS.items() if each.unit is Unit.VECTOR and release.has(name)
    }
    return any(f'"api/compute/{header}"' in source for header in headers)


def _check_one(
    trio: Trio, program: Program, compiler: Compiler, release: Release, folder: Path, base: Mapping[str, Path]
) -> Outcome:
    place = folder / program.core
    place.mkdir()
    source = place / f"{program.role}.cpp"
    source.write_text(trio.sources[program.role])
    write_jit_files(place, source, trio.formats, fp32_registers=trio.fp32_registers)
    words = ",".join(map(str, trio.words.get(program.role, ())))
    options = [*(f"-D{each}" for each in program.defines), f"-DKERNEL_COMPILE_TIME_ARGS={words}"]
    vector = program.part in ("math", "pack") and uses_vector_engine(source.read_text(), release)
    if vector:
        return Outcome(program, "needs sfpi.h")
    built = place / "kernel.o" if base else None
    run = compiler.compile(compiler.source(f"{_FIRMWARE}/{program.wrapper}"), options, built, place)
    if run.how:
        return Outcome(program, "fails", _errors(run.messages, compiler, place))
    if built is None:
        return Outcome(program, "compiles")
    extra = [path for name, path in base.items() if program.core in _OF_ONE_CORE.get(name, program.core)]
    run = compiler.link([built, *extra], program.core, place / "kernel.elf", place)
    return Outcome(program, "fails", run.messages) if run.how else Outcome(program, "links")


def _support(compiler: Compiler, folder: Path) -> dict[str, Path]:
    """What a kernel is linked with; the wheel has it compiled too, but in GCC's intermediate form."""
    sources = {
        "memset": STAND_INS / "memset.cpp",
        "substitutes": compiler.source("hw/toolchain/substitutes.cpp"),
        "noc": compiler.source(_FIRMWARE + "/{arch}/noc.c"),
    }
    if compiler.architecture == "wormhole":  # whose NCRISC runs from a memory of its own
        sources["start"] = folder / "start.S"
        text = compiler.source("hw/toolchain/wh-iram-start.S").read_text()
        sources["start"].write_text(_DEBUGGING.sub("", text))
    built = {}
    for name, source in sources.items():
        built[name] = folder / f"{name}.o"
        options = ["-DCOMPILE_FOR_BRISC", "-fno-builtin", *([] if source.suffix == ".S" else ["-x", "c++"])]
        run = compiler.compile(source, options, built[name], folder)
        if run.how:
            log = _errors(run.messages, compiler, folder)
            raise CompilationFailed(f"{name} of the vendor's support code does not compile", log=log)
    return built


def _errors(messages: str, compiler: Compiler, folder: Path) -> str:
    lines = _ERROR.findall(messages) or [messages[-2000:]]
    text = "\n".join(lines[:8])
    return text.replace(f"{folder}/", "").replace(f"{compiler.wheel.folder}/", "")
