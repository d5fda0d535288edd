"""Shares parallel loops among the threads of the block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tle_raw.adapters.mlir.bindings import Binding


def share_loops(module: Any, binding: Binding, to_parallel: Callable[[], None]) -> None:
    to_parallel()
