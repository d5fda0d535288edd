"""What a PrimFunc computes without the kernel that calls it: the other side of a comparison."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.tilelang.installed import load_tilelang
from tle_raw.adapters.tilelang.linked.lower import _HOST_ALLOCATES


def run_alone(fragment: Any, *arguments: Any) -> str:
    """Run the PrimFunc on arrays, which it changes in place; says who ran it.

    On a GPU it is TileLang itself, where its own compilation works; else the region as a kernel of its own.
    """
    whole, reason = fragment.as_kernel(), ""
    if any(getattr(a, "is_cuda", False) for a in arguments):
        try:
            kernel = _compiled_by_tilelang(whole)
        except Exception as error:  # no nvcc, or a kernel that it refuses
            reason = f", as TileLang itself cannot compile here: {str(error).strip().splitlines()[0][:200]}"
        else:
            kernel(*arguments)
            return "TileLang"
    whole(*arguments)
    return f"the region alone{reason}"


def _compiled_by_tilelang(whole: Any) -> Any:
    prim_func = whole.program.prim_func
    for attribute in _HOST_ALLOCATES:
        prim_func = prim_func.without_attr(attribute)
    return load_tilelang().compile(prim_func, pass_configs=dict(whole.pass_configs))
