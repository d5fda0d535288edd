"""Builds a program's host side: with the SDK where ``TT_METAL_HOME`` names one, else for the simulator.

The SDK's way is its own CMake package, ``TT-Metalium``. No SDK was there when this was written: the simulator's way is
tested, the SDK's has not run.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tle_raw.errors import ToolchainError
from tle_raw.linker.processes.child_process import Limits, default_memory, run_child

HOME = "TT_METAL_HOME"
_PROJECT = """cmake_minimum_required(VERSION 3.22)
project(tle_raw_program CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(TT-Metalium REQUIRED)
add_executable(main {main})
target_link_libraries(main PRIVATE TT::Metalium)
"""


def build(folder: str | Path, api: str) -> Path:
    """The program ``main`` of a folder that holds the five files.

    Raises
    ------
    ToolchainError : there is no compiler, no CMake for the SDK, or the files do not compile.
    """
    home = os.environ.get(HOME)
    if home:
        return build_with_sdk(Path(folder).absolute(), Path(home))
    from tle_raw.targets.tenstorrent.simulator import build_program  # which an SDK makes needless

    return build_program(folder, release=api)


def sdk_commands(folder: Path, home: Path) -> list[tuple[str, ...]]:
    """What ``build_with_sdk`` runs: configure, then build."""
    made = folder / "build"
    configure = ("cmake", "-S", str(made / "project"), "-B", str(made), f"-DCMAKE_PREFIX_PATH={home / 'build'}")
    return [configure, ("cmake", "--build", str(made))]


def build_with_sdk(folder: Path, home: Path) -> Path:
    """Build with an SDK; kernels are compiled by it when ``main`` runs, in the folder.

    Raises
    ------
    ToolchainError : the SDK or CMake is not there, or the build fails.
    """
    if not home.is_dir():
        raise ToolchainError(f"{HOME} names {home}, which is no folder")
    if shutil.which("cmake") is None:
        raise ToolchainError("the SDK is built with CMake, which is not there", hint=f"install it, or unset {HOME}")
    project = folder / "build" / "project"
    project.mkdir(parents=True, exist_ok=True)
    (project / "CMakeLists.txt").write_text(_PROJECT.format(main=folder / "main.cpp"), "utf-8")
    for command in sdk_commands(folder, home):
        run = run_child(command, limits=Limits(1800.0, default_memory()), folder=folder, merged=True)
        if run.how:
            raise ToolchainError(
                f"{' '.join(command[:2])} {run.how}", log=run.output.decode("utf-8", "replace")[-4000:]
            )
    return folder / "build" / "main"
