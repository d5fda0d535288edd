"""A PrimFunc as a kernel of its own, compiled ahead of time, and what there is to tell of it."""

from __future__ import annotations

import time
from typing import Any

from tilelang_sweep.results import COMPILED, Tried

TENSTORRENT = "tenstorrent"
SHARED = {80: 166912, 86: 101376, 89: 101376, 90: 232448, 100: 232448, 120: 101376}  # bytes that a block can have


def try_kernel(kernel: Any, route: str | None, capability: int) -> None:
    """Compile a stand-in's PrimFunc and fill its record."""
    tried = kernel.tried
    tried.capability, start = capability, time.perf_counter()
    try:
        if route == TENSTORRENT:
            _metalium_programs(kernel)
        else:
            for fragment in fragments_of(kernel, route):
                told_of(tried, fragment.as_kernel().compile(f"cuda:{capability}"), capability)
    except Exception as error:
        failed_with(tried, error)
        tried.route = route or ""
    tried.seconds = round(time.perf_counter() - start, 2)


def _metalium_programs(kernel: Any) -> None:
    """The files of each T.Kernel of the PrimFunc; they are not run."""
    import tle_raw
    from tle_raw.adapters.tilelang import split_kernels

    for part in split_kernels(kernel.prim_func):
        tle_raw.compile(part, target=TENSTORRENT)
    kernel.tried.outcome, kernel.tried.route = COMPILED, TENSTORRENT


def fragments_of(kernel: Any, route: str | None) -> list[Any]:
    """One for each T.Kernel of the PrimFunc: each is a launch."""
    import tle_raw
    from tle_raw.adapters.tilelang import split_kernels

    options = {"route": route} if route else {}
    parts = split_kernels(kernel.prim_func)
    return [tle_raw.fragment(part, pass_configs=kernel.pass_configs, **options) for part in parts]


def told_of(tried: Tried, kernel: Any, capability: int = 0) -> None:
    """What a compiled kernel's report says; of several launches the largest numbers, and the route that reaches all."""
    import tle_raw

    tried.outcome = COMPILED
    if getattr(kernel, "asm", None) is None:
        tried.route = "traced"  # Triton's interpreter
        return
    told = tle_raw.report(kernel)
    route = told.regions[0].route or "traced"
    tried.route = route if tried.route in ("", "traced") else tried.route
    for name in ("registers", "stack", "spills"):
        setattr(tried, name, max(getattr(tried, name) or 0, getattr(told, name) or 0))
    tried.shared = max(tried.shared, told.dynamic_shared or 0)
    largest = SHARED.get(capability)
    if largest is not None and tried.shared > largest:
        raise MemoryError(f"{tried.shared} bytes of shared memory, of which a block has {largest}")


def failed_with(tried: Tried, error: BaseException) -> None:
    """The error of ours that stands behind others."""
    import tle_raw

    while error.__cause__ is not None and not isinstance(error, tle_raw.TLEError):
        error = error.__cause__
    tried.outcome = type(error).__name__
    tried.message = str(getattr(error, "message", error)).split("\n")[0][:300]
