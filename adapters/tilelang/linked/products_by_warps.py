"""Lets a target without ``wgmma`` make the products that ask for it by name (``T.wgmma_gemm``): as ``T.gemm`` there."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.tilelang.tir_types import Call, PrimFunc

_PRODUCT, _BY_WARPS = "tl.tileop.wgmma_gemm", "tl.tileop.gemm"
# What orders products in the background, and has nothing to order where each is done when the next statement begins.
_ORDERS = ("tl.wait_wgmma", "tl.warpgroup_arrive", "tl.warpgroup_commit_batch", "tl.warpgroup_wait")


def products_by_warps(prim_func: PrimFunc) -> Any:
    """The PrimFunc with products that are waited for at once; itself where it names none."""
    from tvm import tirx

    found = False

    def rewrite(call: Call) -> Any:
        nonlocal found
        name = str(call.op.name)
        if name == _PRODUCT:
            found = True
            return tirx.Call(call.dtype, tirx.op.Op.get(_BY_WARPS), list(call.args))
        return tirx.IntImm("int32", 0) if name in _ORDERS else None

    body = tirx.stmt_functor.ir_transform(prim_func.body, None, rewrite, ["tirx.Call"])
    return prim_func.with_body(body) if found else prim_func
