"""Finds a place for memory that a fragment allocates: the stack of a thread, or static shared memory."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.mlir.bindings import Binding


def place_memory(module: Any, binding: Binding) -> None:
    pass
