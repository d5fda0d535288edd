"""A PrimFunc with several T.Kernels as PrimFuncs of one each: every T.Kernel is a launch of its own."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.tilelang.program import kernels_of


def split_kernels(prim_func: Any) -> list[Any]:
    """PrimFuncs with the same parameters, to be launched one after the other; the PrimFunc itself where it has one.

    What stands beside a T.Kernel stays in each of them, and so code for the host is still refused.
    """
    kernels = kernels_of(prim_func.body)
    if len(kernels) < 2:
        return [prim_func]
    name = str(prim_func.attrs["global_symbol"]) if "global_symbol" in prim_func.attrs else "main"
    return [
        prim_func.with_body(_with_one(prim_func.body, number)).with_attr("global_symbol", f"{name}_{number}")
        for number in range(len(kernels))
    ]


def _with_one(body: Any, number: int) -> Any:
    from tvm.tirx import Evaluate
    from tvm.tirx.stmt_functor import ir_transform

    met = 0

    def after(node: Any) -> Any:
        nonlocal met
        kernels = [bool(kernels_of(inner)) for inner in node.seq]
        if sum(kernels) < 2:
            return None
        kept = [inner for inner, is_kernel in zip(node.seq, kernels) if not is_kernel or _take(inner)]
        return kept[0] if len(kept) == 1 else type(node)(kept) if kept else Evaluate(0)

    def _take(inner: Any) -> bool:
        nonlocal met
        met += 1
        return met - 1 == number

    return ir_transform(body, lambda node: None, after, ["tirx.SeqStmt"])
