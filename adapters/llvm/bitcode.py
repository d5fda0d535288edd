"""LLVM bitcode as text, by llvmlite or by clang, whichever reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tle_raw.errors import FragmentSourceError, ToolchainError
from tle_raw.knobs import knobs
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
# Raw bitcode, and bitcode inside the wrapper that Apple's tools write.
MAGIC = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")


def is_bitcode(data: bytes) -> bool:
    return data.startswith(MAGIC)


@lru_cache(maxsize=16)
def disassemble(data: bytes) -> str:
    """The module as text.

    Raises
    ------
    FragmentSourceError : no tool at hand can read it.
    ToolchainError : there is no tool.
    """
    refused = []
    for name, run in _tools():
        done = run(data)
        if not done.how and done.output.strip():
            return done.output.decode("utf-8", "surrogateescape")
        refused.append(f"{name}: {_last_line(done)}")
    if not refused:
        raise ToolchainError("bitcode is read by llvmlite or by clang, and neither is installed", hint=INSTALL)
    raise FragmentSourceError(
        "the bitcode cannot be read",
        log="\n".join(refused),
        hint="bitcode of a newer LLVM is unreadable to older ones: write .ll text instead (llvm-dis)",
    )


def _tools() -> Iterator[tuple[str, Callable[[bytes], Finished]]]:
    if find_spec("llvmlite"):
        yield "llvmlite", lambda data: run_python(CHILD, data=data, limits=_limits(), modules=["llvmlite.binding"])
    try:
        clang = find_clang()
    except ToolchainError:
        return
    flags = ["--target=nvptx64-nvidia-cuda", "-x", "ir", "-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes"]
    yield "clang", lambda data: run_child([*clang.command, *flags, "-o", "-", "-"], data=data, limits=_limits())


def _last_line(done: Finished) -> str:
    lines = [line.strip() for line in done.messages.splitlines() if line.strip()]
    return lines[-1][:300] if lines else f"it {done.how or 'wrote nothing'}"


def _limits() -> Limits:
    return Limits(knobs.compile_timeout, default_memory(), stack=CHILD_STACK)
