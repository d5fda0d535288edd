"""PTX that a compiler writes, for tests."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from tle_raw.adapters.cpp.command import command_line
from tle_raw.adapters.cpp.options import read_options
from tle_raw.adapters.cpp.toolchain import find_toolchain


@cache
def _ptx(source: str, arch: str) -> str:
    options = read_options({"source": source}, Path.cwd())
    command = [*command_line(find_toolchain(), options, arch, Path.cwd(), line_info=False), "-S", "-o", "-", "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="session")
def ptx_of():
    """The PTX of CUDA C++, by clang."""
    return lambda source, arch="sm_80": _ptx(source, arch)
