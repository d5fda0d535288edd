"""LLVM bitcode as text, by llvmlite or by clang, whichever reads it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tle_raw.errors import FragmentSourceError, ToolchainError
from tle_raw.linker.clang import find_clang

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
    for name, command in _tools():
        with tempfile.TemporaryDirectory(prefix="tle_raw-") as folder:
            output = Path(folder, "module.ll")
            run = _run([*command, *(("-o", str(output), "-") if name == "clang" else ())], data)
            if run is not None and run.returncode == 0:
                text = output.read_bytes() if name == "clang" else run.stdout
                return text.decode("utf-8", "surrogateescape")
            said = "it did not finish" if run is None else run.stderr.decode("utf-8", "replace").strip()
            refused.append(f"{name}: {(said.splitlines() or ['it failed'])[-1][:300]}")
    if not refused:
        raise ToolchainError("bitcode is read by llvmlite or by clang, and neither is installed", hint=INSTALL)
    raise FragmentSourceError(
        "the bitcode cannot be read",
        log="\n".join(refused),
        hint="bitcode of a newer LLVM is unreadable to older ones: write .ll text instead (llvm-dis)",
    )


def _tools() -> Iterator[tuple[str, list[str]]]:
    if find_spec("llvmlite"):
        yield "llvmlite", [sys.executable, "-P", str(CHILD)]
    try:
        clang = find_clang()
    except ToolchainError:
        return
    flags = ["--target=nvptx64-nvidia-cuda", "-x", "ir", "-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes"]
    yield "clang", [*clang.command, *flags]


def _run(command: list[str], data: bytes) -> subprocess.CompletedProcess[bytes] | None:
    from tle_raw.knobs import knobs

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        return subprocess.run(command, input=data, env=environment, capture_output=True, timeout=knobs.compile_timeout)
    except subprocess.TimeoutExpired:
        return None
