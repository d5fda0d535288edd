"""Finds and runs the CUDA binary tools: Triton's wheel first, then PATH, then a toolkit."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tle_raw.linker.processes.child_process import Limits, default_memory, run_child

TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class ToolOutput:
    """What a tool wrote; ``reason`` says why there is nothing, or is ""."""

    text: str
    reason: str = ""


@cache
def find_tool(name: str) -> Path | None:
    """An executable of this name, or None."""
    for folder in _wheel_folders():
        if os.access(folder / name, os.X_OK):
            return folder / name
    on_path = shutil.which(name)
    if on_path:
        return Path(on_path)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        candidate = Path(os.environ.get(variable, ""), "bin", name)
        if os.environ.get(variable) and os.access(candidate, os.X_OK):
            return candidate
    return None


def _wheel_folders() -> Iterator[Path]:
    spec = importlib.util.find_spec("triton")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        yield Path(folder, "backends", "nvidia", "bin")


def run_tool(name: str, *arguments: str, timeout: float = TIMEOUT_SECONDS) -> ToolOutput:
    """Run a tool; never raises for what the tool does."""
    tool = find_tool(name)
    if tool is None:
        return ToolOutput("", f"{name} was not found in Triton's wheel, on PATH or under CUDA_HOME")
    try:
        run = run_child([str(tool), *arguments], limits=Limits(timeout, default_memory()))
    except OSError as error:
        return ToolOutput("", f"{name} could not be run: {error}")
    if run.returncode is None:
        return ToolOutput("", f"{name} took longer than {timeout:g} s")
    if run.returncode:
        return ToolOutput("", f"{name} failed with {run.returncode}: {run.messages.strip()[:200]}")
    return ToolOutput(run.output.decode("utf-8", "replace"))
