"""LLVM bitcode as text, by llvmlite or by clang, whichever reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tle_raw.errors import FragmentSourceError, ToolchainError
from tle_raw.linker.inputs.kinds import is_bitcode
from tle_raw.linker.processes.child_process import (
    CHILD_STACK,
    Finished,
    Limits,
    default_memory,
    run_child,
)
from tle_raw.linker.processes.run_python import run_python
from tle_raw.linker.tools.clang import find_clang

CHILD = Path(__file__).with_name("bitcode_child.py")
INSTALL = "pip install 'tle_raw[llvm]'"
__all__ = ["disassemble", "function_names", "is_bitcode"]


@lru_cache(maxsize=16)
def disassemble(data: bytes, timeout: float = 600.0, wanted: tuple[str, ...] | None = None) -> str:
    """The module as text.

    Parameters
    ----------
    timeout : seconds that a tool may take.
    wanted : only these functions and what they reach, where llvmlite reads the file; all of it when None.

    Raises
    ------
    FragmentSourceError : no tool at hand can read it.
    ToolchainError : there is no tool.
    """
    return _asked(data, timeout, ("whole",) if wanted is None else ("cut", *wanted))


@lru_cache(maxsize=16)
def function_names(data: bytes, timeout: float = 600.0) -> frozenset[str]:
    """The functions that the module defines for others.

    Raises
    ------
    FragmentSourceError, ToolchainError : as for ``disassemble``.
    """
    if find_spec("llvmlite"):
        return frozenset(_asked(data, timeout, ("names",)).split("\n")) - {""}
    from tle_raw.linker.llvm.symbols import definitions
    from tle_raw.linker.llvm.text import read_module

    return frozenset(each.name for each in definitions(read_module(disassemble(data, timeout))))


def _asked(data: bytes, timeout: float, task: tuple[str, ...]) -> str:
    refused = []
    limits = Limits(timeout, default_memory(), stack=CHILD_STACK)
    for name, run in _tools(limits, task):
        done = run(data)
        if not done.how and (done.output.strip() or task == ("names",)):
            return done.output.decode("utf-8", "surrogateescape")
        refused.append(f"{name}: {_last_line(done)}")
    if not refused:
        raise ToolchainError("bitcode is read by llvmlite or by clang, and neither is installed", hint=INSTALL)
    raise FragmentSourceError(
        "the bitcode cannot be read",
        log="\n".join(refused),
        hint="bitcode of a newer LLVM is unreadable to older ones: write .ll text instead (llvm-dis)",
    )


def _tools(limits: Limits, task: tuple[str, ...]) -> Iterator[tuple[str, Callable[[bytes], Finished]]]:
    if find_spec("llvmlite"):
        yield (
            "llvmlite",
            lambda data: run_python(CHILD, *task, data=data, limits=limits, modules=["llvmlite.binding"]),
        )
    try:
        clang = find_clang()
    except ToolchainError:
        return
    flags = ["--target=nvptx64-nvidia-cuda", "-x", "ir", "-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes"]
    yield "clang", lambda data: run_child([*clang.command, *flags, "-o", "-", "-"], data=data, limits=limits)


def _last_line(done: Finished) -> str:
    lines = [line.strip() for line in done.messages.splitlines() if line.strip()]
    return lines[-1][:300] if lines else f"it {done.how or 'wrote nothing'}"
