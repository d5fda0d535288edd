"""What a PrimFunc computes without the kernel that calls it: the other side of a comparison."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.tilelang.installed import load_tilelang
from tle_raw.adapters.tilelang.linked.lower import HOST_ALLOCATES


def run_alone(fragment: Any, *arguments: Any) -> tuple[list[Any], str]:
    """Run the PrimFunc on copies of torch's tensors: they come back as it left them, with a word on who ran it.

    On a GPU it is TileLang itself, where its own compilation works; else the region as a kernel of its own.
    """
    whole, reason = fragment.as_kernel(), ""
    copies = [copied(a) for a in arguments]
    if any(getattr(a, "is_cuda", False) for a in copies):
        try:
            kernel = _compiled_by_tilelang(whole)
        except Exception as error:  # no nvcc, or a kernel that it refuses
            words = str(error).strip().splitlines() or [type(error).__name__]
            reason = f" (TileLang itself cannot compile here: {words[0][:200]})"
        else:
            kernel(*copies)
            return copies, "TileLang"
    whole(*copies)
    return copies, f"the region alone{reason}"


def copied(value: Any) -> Any:
    """With the same strides, which a clone of a tensor with gaps would not have."""
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device).copy_(value)


def _compiled_by_tilelang(whole: Any) -> Any:
    prim_func = whole.program.prim_func
    for attribute in HOST_ALLOCATES:
        prim_func = prim_func.without_attr(attribute)
    return load_tilelang().compile(prim_func, pass_configs=dict(whole.pass_configs))
