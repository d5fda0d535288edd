"""Verify the Linalg form as it was made, and write equal address arithmetic once."""

from __future__ import annotations

from typing import Any


def clean(module: Any) -> None:
    """Rewrite a module in place."""
    from torch_mlir.passmanager import PassManager

    module.operation.verify()
    PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)
