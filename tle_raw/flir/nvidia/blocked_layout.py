"""Blocked layouts as texts: which elements of a tensor a thread holds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from tle_raw.flir.nvidia.buffer_types import element_bits
from tle_raw.linker.mlir.text import split_top_level

WARP = 32
_WIDEST = 16  # bytes of one access to memory
_TENSOR = re.compile(r"tensor<(?P<dims>(?:\d+x)+)(?P<rest>.*)>$")


@dataclass(frozen=True)
class Blocked:
    """``#ttg.blocked``; ``order`` names the axes, the one whose elements lie side by side first."""

    size_per_thread: tuple[int, ...]
    threads_per_warp: tuple[int, ...]
    warps_per_block: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def name(self) -> str:
        """The alias under which texts refer to it."""
        parts = (self.size_per_thread, self.threads_per_warp, self.warps_per_block, self.order)
        return "#tle_blocked_" + "_".join("x".join(map(str, part)) for part in parts)

    @property
    def text(self) -> str:
        """The attribute."""
        return (
            f"#ttg.blocked<{{sizePerThread = {list(self.size_per_thread)}, "
            f"threadsPerWarp = {list(self.threads_per_warp)}, warpsPerCTA = {list(self.warps_per_block)}, "
            f"order = {list(self.order)}}}>"
        )


def coalesced(tensor: str, order: tuple[int, ...], num_warps: int) -> Blocked:
    """A layout of a tensor type in which a thread has up to 16 bytes in a row along the first axis of ``order``."""
    dims, element = read_tensor(tensor)
    bits = element_bits(element)
    size, threads, warps = [1] * len(dims), [1] * len(dims), [1] * len(dims)
    per_thread = max(1, prod(dims) // (WARP * num_warps))
    size[order[0]] = min(dims[order[0]], _WIDEST * 8 // bits, per_thread)
    lanes, groups = WARP, num_warps
    for axis in order:
        threads[axis] = min(lanes, max(1, dims[axis] // size[axis]))
        lanes //= threads[axis]
        warps[axis] = min(groups, max(1, dims[axis] // (size[axis] * threads[axis])))
        groups //= warps[axis]
    threads[order[-1]] *= lanes
    warps[order[-1]] *= groups
    return Blocked(tuple(size), tuple(threads), tuple(warps), order)


def in_tensor_memory(tensor: str, num_warps: int) -> Blocked:
    """The layout in which warps read and write a tile of tensor memory: four of them its rows, others columns."""
    (rows, columns), _ = read_tensor(tensor)
    over_columns = max(1, num_warps // 4)
    if rows < 128:  # half of a warp's lanes hold rows, the others the other half of the columns
        return Blocked((1, columns // (2 * over_columns)), (16, 2), (4, over_columns), (0, 1))
    return Blocked((1, columns // over_columns), (WARP, 1), (4, over_columns), (0, 1))


@lru_cache(maxsize=256)  # operations of a kernel have few types
def read_tensor(tensor: str) -> tuple[tuple[int, ...], str]:
    """The dims and the element of a tensor type's text."""
    match = _TENSOR.match(tensor)
    if match is None:
        return (), ""
    return tuple(int(d) for d in match["dims"].split("x")[:-1]), split_top_level(match["rest"])[0].strip()


def layout_of(tensor: str) -> str:
    """The text of a tensor type's layout, mostly an alias."""
    match = _TENSOR.match(tensor)
    parts = split_top_level(match["rest"]) if match else []
    return parts[1].strip() if len(parts) > 1 else ""


def with_layout(tensor: str, layout: str) -> str:
    """The tensor type with this layout in place of its own."""
    match = _TENSOR.match(tensor)
    if match is None:
        return tensor
    return f"tensor<{match['dims']}{split_top_level(match['rest'])[0]}, {layout}>"
