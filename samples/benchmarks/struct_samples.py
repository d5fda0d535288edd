"""The samples of TLE-Struct, whose kernels the benchmarks measure."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


def sample(name: str) -> ModuleType:
    """By the name of its file, without the ending."""
    return common.load(f"tle_struct/{name}.py")
