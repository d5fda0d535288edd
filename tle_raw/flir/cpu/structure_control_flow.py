"""Early returns make branches between blocks of them: loops and ifs again."""

from __future__ import annotations

from typing import Any


def structure_control_flow(module: Any) -> bool:
    """Rewrite a module in place whose function has several blocks; whether it had."""
    from torch_mlir.passmanager import PassManager

    if any(len(view.operation.regions[0].blocks) > 1 for view in module.body.operations):
        PassManager.parse("builtin.module(func.func(lift-cf-to-scf,canonicalize))").run(module.operation)
        return True
    return False
