"""What a PrimFunc says before its T.Kernel: assumptions, and names for numbers, which become those numbers."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.tilelang.tir_types import Node, PrimFunc


def is_assumption(statement: Node) -> bool:
    """``T.assume(n > 0)``, which TileLang's own lowering makes use of."""
    value = getattr(statement, "value", None)
    return type(statement).__name__ == "Evaluate" and str(getattr(getattr(value, "op", None), "name", "")) in (
        "tirx.assume",
        "tl.assume",
    )


def with_names_replaced(prim_func: PrimFunc) -> Any:
    """The PrimFunc without ``blocks = T.ceildiv(n, 64)`` before its T.Kernel: what reads the name computes it.

    A name for something in memory stays: reading it is code for the host.
    """
    values: dict[Any, Any] = {}
    body = _without(prim_func.body, values)
    return prim_func.with_body(body) if values else prim_func


def _without(node: Any, values: dict[Any, Any]) -> Any:
    """Down to the first launch; ``values`` gets the names."""
    from tvm.tirx import SBlock, SBlockRealize
    from tvm.tirx.stmt_functor import substitute

    kind = type(node).__name__
    if kind == "SBlockRealize" and str(node.block.name_hint) != "tilelang_root":
        block = node.block
        body = _without(block.body, values)
        if not values:
            return node
        block = SBlock(
            block.iter_vars, block.reads, block.writes, block.name_hint, body, block.init, block.alloc_buffers,
            block.match_buffers, block.annotations,
        )  # fmt: skip
        return SBlockRealize(node.iter_values, node.predicate, block)
    if kind != "SeqStmt":
        return node
    kept = []
    for statement in node.seq:
        if type(statement).__name__ == "Bind" and _is_number(statement.value):
            values[statement.var] = substitute(statement.value, values) if values else statement.value
        else:
            kept.append(substitute(statement, values) if values else statement)
    return kept[0] if len(kept) == 1 else type(node)(kept)


def _is_number(value: Any) -> bool:
    """An expression of sizes and scalars."""
    from tvm.tirx.stmt_functor import post_order_visit

    kinds: list[str] = []
    post_order_visit(value, lambda node: kinds.append(type(node).__name__))
    return not {"BufferLoad", "Call"} & set(kinds)
