"""Take the leave to contract from conversions: a bf16 between two operations is rounded to bf16."""

from __future__ import annotations

from typing import Any

from tle_raw.flir.cpu.bindings import mlir


def keep_rounding(module: Any) -> None:
    """Rewrite a module in place."""
    ir = mlir()

    def visit(op: Any) -> Any:
        if op.name in ("arith.extf", "arith.truncf") and "fastmath" in op.attributes:
            op.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<none>")
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
