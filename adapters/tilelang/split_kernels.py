"""A PrimFunc with several T.Kernels as PrimFuncs of one each: every T.Kernel is a launch of its own."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.tilelang.objects import build_prim_func
from tle_raw.adapters.tilelang.program import kernels_of
from tle_raw.adapters.tilelang.regions import is_global
from tle_raw.adapters.tilelang.tir_types import PrimFunc


def split_kernels(source: Any, **arguments: Any) -> list[Any]:
    """PrimFuncs to be launched one after the other; the PrimFunc itself where it has one and no memory of its own.

    Parameters
    ----------
    source : a PrimFunc, a function that builds one, a ``@tilelang.jit`` function, or a compiled TileLang kernel.
    arguments : for functions that build a PrimFunc: ``M=1024``, …

    Their parameters are the PrimFunc's, and behind these the global memory that it makes for itself: what one launch
    leaves there is what the next one reads. Code for the host stays in each of them, and so it is still refused.
    """
    prim_func = _with_its_memory(build_prim_func(source, arguments))
    kernels = kernels_of(prim_func.body)
    if len(kernels) < 2:
        return [prim_func]
    name = str(prim_func.attrs["global_symbol"]) if "global_symbol" in prim_func.attrs else "main"
    return [
        prim_func.with_body(_with_one(prim_func.body, number)).with_attr("global_symbol", f"{name}_{number}")
        for number in range(len(kernels))
    ]


def _with_its_memory(prim_func: PrimFunc) -> Any:
    """Global buffers that the root block allocates become parameters."""
    from tvm.tirx import PrimFunc, SBlock, SBlockRealize, Var

    realize = prim_func.body
    root: Any = getattr(realize, "block", None)
    if root is None or str(root.name_hint) == "tilelang_root":
        return prim_func
    own = [b for b in root.alloc_buffers if is_global(b)]
    if not own:
        return prim_func
    kept = [b for b in root.alloc_buffers if not is_global(b)]
    block = SBlock(
        root.iter_vars, root.reads, root.writes, root.name_hint, root.body, root.init, kept, root.match_buffers,
        root.annotations,
    )  # fmt: skip
    handles = {Var(f"{buffer.name}_handle", "handle"): buffer for buffer in own}
    return PrimFunc(
        [*prim_func.params, *handles],
        SBlockRealize(realize.iter_values, realize.predicate, block),
        prim_func.ret_type,
        {**dict(prim_func.buffer_map), **handles},
        prim_func.attrs,
    )


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
