"""Hints of cuTile that have no counterpart here: the report names those that a region gives."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.cutile.ir_types import Block, Operation
from tle_raw.regions.notes import note

OF_ACCESSES = ("latency", "allow_tma")
OF_KERNELS = ("num_ctas", "occupancy", "num_worker_warps")


def note_dropped_hints(block: Block, is_planned: bool) -> None:
    """Of loads and stores, in all blocks. Most have their effect where a warp of its own copies tiles."""
    given: dict[str, None] = {}
    for op in block.traverse():
        for name in _without_effect(op) if is_planned else OF_ACCESSES:
            value = getattr(op, name, None)
            if value is not None and name in op.attributes:
                given[f"{name}={value}"] = None
    if given:
        note(f"hints of loads and stores without effect: {', '.join(given)}")


def _without_effect(op: Operation) -> tuple[str, ...]:
    """Of a kernel with a warp that copies."""
    if op.op == "tile_load":
        return ()
    return tuple(name for name in OF_ACCESSES if op.op != "tile_store" or name != "allow_tma")


def note_kernel_hints(kernel: Any) -> None:
    """Of ``@ct.kernel``, inside of a kernel that has options of its own."""
    options = getattr(kernel, "_compiler_options", None)
    given = {name: getattr(options, name, None) for name in OF_KERNELS}
    texts = [f"{name}={value}" for name, value in given.items() if value is not None]
    if texts:
        note(f"hints of the kernel that belong to the launch: {', '.join(texts)}")


def kernel_hint(kernel: Any, name: str, architecture: str = "sm_90") -> int | None:
    """A hint of ``@ct.kernel`` as it is for an architecture; None where it gives none."""
    options = getattr(kernel, "_compiler_options", None)
    if options is None:
        return None
    found = options.hints_by_target()
    value = found.get(architecture, {}).get(name, found["default"].get(name))
    return value if isinstance(value, int) else None
