"""The MLIR bindings: upstream MLIR as the torch-mlir wheel carries it, imported when the first kernel needs it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tle_raw.errors import ToolchainError


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
    return ir
