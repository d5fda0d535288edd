"""The MLIR bindings: upstream MLIR as the torch-mlir wheel carries it, imported when the first kernel needs it."""

from __future__ import annotations

import sys
from functools import lru_cache
from types import ModuleType
from typing import Any

from tle_raw.errors import ToolchainError

# Dialects of Triton's, which the bindings have no Python classes for.
_WITHOUT_CLASSES = ("tt", "ttg", "ttng", "tti")


@lru_cache(maxsize=1)
def mlir() -> Any:
    """The module ``ir`` of the MLIR bindings.

    Raises
    ------
    ToolchainError : they are not installed.
    """
    try:
        from torch_mlir import ir
    except ImportError as e:
        raise ToolchainError(
            f"kernels for the CPU are compiled with MLIR, whose Python bindings cannot be imported: {e}",
            hint="pip install 'tle_raw[cpu]'",
        ) from e
    _say_that_there_are_no_classes()
    return ir


def _say_that_there_are_no_classes() -> None:
    """The bindings look for the class of an operation each time Python sees one, and remember only what they found.

    An empty module is found: else a kernel's compilation tries some hundred imports that fail, a sixth of its time.
    """
    for dialect in _WITHOUT_CLASSES:
        name = f"torch_mlir.dialects.{dialect}"
        sys.modules.setdefault(name, ModuleType(name, "No classes: made by tle_raw."))
