"""The library of the guide, packed once; a library belongs to a process, so what uses one starts its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tle_raw
from tests.libraries.guide import write_sources

NO_CLANG = {"TLE_RAW_CUDA_CLANG": "/nowhere/clang"}
Program = Callable[..., str]


@pytest.fixture(scope="session")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guide's library, packed: the folder with its ``pyproject.toml``."""
    from tle_raw.cli import main

    folder = tmp_path_factory.mktemp("acme")
    manifest = write_sources(folder)
    assert main(["pack", str(manifest), "-o", str(folder / "acme_math")]) == 0
    return folder / "acme_math"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Run a program with these libraries on its path; what it printed."""

    def run(text: str, *libraries: Path, fails: bool = False, **environment: str) -> str:
        file = tmp_path / "program.py"
        file.write_text(text)
        path = os.pathsep.join(map(str, [*libraries, Path(tle_raw.__file__).parents[1]]))
        done = subprocess.run(
            [sys.executable, str(file)],
            capture_output=True,
            text=True,
            timeout=200,
            env={**os.environ, "PYTHONPATH": path, **environment},
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run
