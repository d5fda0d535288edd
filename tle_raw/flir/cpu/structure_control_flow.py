"""Early returns make branches between blocks of them: loops and ifs again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_FUNCTION = "func.func"
_PARTITIONS = ("ttg.warp_specialize", "ttg.warp_specialize.partitions")  # functions were inlined into them


def structure_control_flow(module: Any) -> bool:
    """Rewrite a module in place whose function, or a partition of it, has several blocks; whether it had."""
    from torch_mlir.passmanager import PassManager

    functions = [view.operation for view in module.body.operations]
    if any(len(region.blocks) > 1 for function in functions for region in _bodies(function)):
        PassManager.parse("builtin.module(func.func(lift-cf-to-scf,canonicalize))").run(module.operation)
        return True
    return False


def _bodies(operation: Any) -> Iterator[Any]:
    """The regions that may have several blocks: a function's, and those of partitions inside of it."""
    for region in operation.regions:
        if operation.name == _FUNCTION or operation.name in _PARTITIONS:
            yield region
        for block in region.blocks:
            for view in block.operations:
                yield from _bodies(view.operation)
