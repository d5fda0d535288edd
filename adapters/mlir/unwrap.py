"""Takes the module that holds a function out of the modules around it."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.mlir.bindings import Binding


def holding_module(module: Any, symbol: str, binding: Binding) -> Any:
    """A flat module with the function and its neighbours, visible to the linker, without a host's attributes."""
    name, path = symbol.rpartition("::")[2], symbol.split("::")[:-1]
    block = _find(module.operation, name, path) or module.body
    flat = binding.ir.Module.create()
    for operation in list(block.operations):
        if operation.name in ("builtin.module", "gpu.module"):
            continue
        operation.detach_from_parent()
        flat.body.append(operation)
    return flat


def _find(module: Any, name: str, path: list[str]) -> Any:
    for block in module.regions[0].blocks:
        for operation in block.operations:
            inner = operation.operation
            label = inner.attributes["sym_name"].value if "sym_name" in inner.attributes else ""
            if inner.name.endswith(".func") and label == name and not path:
                return block
            if inner.name in ("builtin.module", "gpu.module"):
                found = _find(inner, name, path[1:] if path and path[0] == label else path)
                if found is not None:
                    return found
    return None
