"""What TileLang's own compilation of a PrimFunc has that a region has not."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from typing import Any

from tle_raw.adapters.tilelang.installed import load_tilelang
from tle_raw.adapters.tilelang.tir_types import PrimFunc

_DESCRIPTOR = "tensormap_create"  # the host's call that makes one


def lowered_away(prim_func: PrimFunc, threads: int, arch: str, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """In words; nothing where both are the same. ``settings`` are TileLang's pass configuration.

    Raises
    ------
    Exception : TileLang's own, where it does not lower the PrimFunc.
    """
    load_tilelang()
    import tvm

    steps = importlib.import_module("tilelang.engine.lower")
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    with target, tvm.transform.PassContext(config=dict(settings)):
        host, device, *_ = steps.lower_to_host_device_ir(prim_func, steps.create_backend_context(target, None, "auto"))
    found = []
    if _DESCRIPTOR in host.script():
        found.append("TileLang's TMA copies become asynchronous copies of threads (tma=True keeps them)")
    (function,) = device.functions.values()
    extents = {str(key): extent for key, extent in function.attrs["thread_extent"].items()}
    own = math.prod(int(extents.get(f"threadIdx.{axis}", 1)) for axis in "xyz")
    if own > threads:
        found.append(f"TileLang's warp specialisation ({own} threads) is left out")
    return tuple(found)
