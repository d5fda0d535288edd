"""The samples of TLE-Struct, whose kernels the benchmarks measure: no package, as their names begin with digits."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any


def sample(name: str) -> Any:
    file = Path(__file__).parents[1] / "tle_struct" / f"{name}.py"
    found = importlib.util.spec_from_file_location(name[3:], file)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
