"""What the tests of samples do with a program: load it, check its numbers, start it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import tle_raw
from tests.started import run_python


@contextmanager
def loaded(file: Path) -> Iterator[ModuleType]:
    """As a module; the path for imports is as it was afterwards."""
    path = list(sys.path)
    spec = importlib.util.spec_from_file_location(f"{file.parent.name}_{file.stem}", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path[:] = path


def check_on_the_cpu(program: ModuleType) -> None:
    """Its own comparisons, with kernels for the CPU."""
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        checked = list(program.check())
    assert checked and [str(comparison) for _, comparison in checked if not comparison.is_right] == []


def check_run(file: Path) -> None:
    """A process of its own says PASS at its end."""
    output = run_python(file)
    assert output.returncode == 0 and output.stdout.splitlines()[-1] == "PASS", output.stdout + output.stderr


def check_without(package: str, file: Path, extra: str) -> None:
    """Where a package is missing, the last line says what to install."""
    hide = (
        f"import sys; sys.modules[{package!r}] = None; import runpy; runpy.run_path(sys.argv[1], run_name='__main__')"
    )
    output = subprocess.run([sys.executable, "-c", hide, str(file)], capture_output=True, text=True, timeout=240)
    assert output.returncode == 1 and f"pip install 'tle_raw[{extra}]'" in output.stderr
    assert "Traceback" not in output.stderr
