"""Rows with gaps between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2, prod
from typing import Any

from triton.language import core

from tle_raw.errors import LayoutError, Row
from tle_raw.frontends.gpu.layouts.shared_layout import (
    called_in_kernels,
    check_permutation,
    check_power,
    check_rank,
    memory_bits,
    shared_layout,
)
from tle_raw.frontends.lite.arguments import items, plain

# Bits that a thread loads or stores at once: Triton aligns no vector to the gaps.
_VECTOR = 128


@dataclass(frozen=True)
class padded_shared_layout(shared_layout):
    """Rows behind each other, with gaps: after each ``interval`` elements ``padding`` ones are left out.

    Parameters
    ----------
    intervals : pairs ``[interval, padding]`` of powers of two. Threads move up to 16 bytes at once, so that a gap is
        a multiple of 16 bytes, or of the interval where that is shorter.
    shape : the slot's shape, of powers of two.
    order : the axes, the one along which elements lie side by side first; rows by default.
    """

    intervals: tuple[tuple[int, int], ...]
    dims: tuple[int, ...]
    order: tuple[int, ...]

    def __init__(self, intervals: Any, shape: Any, order: Any = None) -> None:
        name = "padded_shared_layout"
        pairs = [items(pair) for pair in items(intervals) or []]
        if not pairs or any(pair is None or len(pair) != 2 for pair in pairs):
            raise LayoutError(
                f"{name} takes pairs of an interval and its padding",
                table=[Row("intervals", "[[32, 4]]", str(intervals))],
            )
        checked = tuple((check_power(name, "interval", a), check_power(name, "padding", b)) for a, b in pairs)  # type: ignore[misc]
        if len({interval for interval, _ in checked}) != len(checked):
            raise LayoutError(f"{name}: each interval stands once", table=[Row("intervals", "", str(checked))])
        dims = tuple(check_power(name, "shape", d) for d in items(shape) or [])
        if not dims:
            raise LayoutError(f"{name} is made for a shape", table=[Row("shape", "e.g. [64, 64]", str(shape))])
        forward = tuple(reversed(range(len(dims))))
        given = forward if plain(order) is None else check_permutation(name, "order", order, len(dims))
        object.__setattr__(self, "intervals", checked)
        object.__setattr__(self, "dims", dims)
        object.__setattr__(self, "order", given)

    @classmethod
    @called_in_kernels
    def make_default(cls, shape: Any, dtype: Any) -> padded_shared_layout:
        """16 bytes of padding after each row."""
        if not isinstance(dtype := plain(dtype), core.dtype):
            raise LayoutError(
                "padded_shared_layout.make_default is made for a shape and a dtype",
                table=[Row("dtype", "e.g. tl.float16", str(dtype))],
            )
        return cls([[(items(shape) or [1])[-1], max(1, _VECTOR // memory_bits(dtype))]], shape)

    @property
    def rank(self) -> int:
        return len(self.dims)

    def make_permute(self, dims: Sequence[int]) -> padded_shared_layout:
        moved = check_permutation("padded_shared_layout.make_permute", "dims", dims, self.rank)
        return padded_shared_layout(
            [list(pair) for pair in self.intervals],
            [self.dims[axis] for axis in moved],
            [moved.index(axis) for axis in self.order],
        )

    def to_ir(self, builder: Any) -> Any:
        bases = []
        for axis in self.order:
            for power in range(int(log2(self.dims[axis]))):
                bases.append([1 << power if other == axis else 0 for other in range(self.rank)])
        intervals, paddings = zip(*self.intervals)
        return builder.get_padded_shared_layout(list(intervals), list(paddings), bases, [], list(self.dims))

    def check(self, shape: Sequence[int], bits: int) -> None:
        check_rank(self, shape)
        if tuple(shape) != self.dims:
            raise LayoutError(
                "the layout was made for another shape", table=[Row("shape", str(list(self.dims)), str(list(shape)))]
            )

        for interval, padding in self.intervals:
            aligned = min(interval, max(1, _VECTOR // bits))
            if padding < aligned:
                raise LayoutError(
                    "a gap leaves what follows it where vectors of 16 bytes cannot be loaded",
                    table=[Row("padding", f"{aligned} elements or more", str(padding))],
                )

    def bytes(self, shape: Sequence[int], bits: int) -> int:
        elements = prod(shape)
        gaps = sum((elements - 1) // interval * padding for interval, padding in self.intervals)
        return (elements + gaps) * bits // 8

    @property
    def text(self) -> str:
        pairs = "_".join(f"{a}p{b}" for a, b in self.intervals)
        return f"padded_{pairs}_{'x'.join(map(str, self.dims))}_{''.join(map(str, self.order))}"
