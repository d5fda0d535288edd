"""What the copy engine writes and tensor cores read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from triton.language import core

from tle_raw.errors import LayoutError, Row
from tle_raw.frontends.gpu.layouts.shared_layout import (
    called_in_kernels,
    check_one_block,
    check_permutation,
    check_rank,
    memory_bits,
    shared_layout,
)
from tle_raw.frontends.lite.arguments import is_integer, items, plain
from tle_raw.regions.swizzles import SWIZZLE_ROWS, widest_swizzle
from tle_raw.triton_version import VERSION

ELEMENT_BITS = (8, 16, 32)


@dataclass(frozen=True)
class nv_mma_shared_layout(shared_layout):
    """The layout that TMA writes and tensor cores read, swizzled by 128, 64 or 32 bytes, or not at all.

    Parameters
    ----------
    shape, elemType : the slot's shape and dtype, which decide the swizzle.
    order : [1, 0] where elements of a row lie side by side, [0, 1] where those of a column do.
    numCTAsPerCGA, numCTASplit, numCTAOrder : of clusters that split a buffer, which are refused.
    fp4Padded : refused; swizzled : False for none.
    """

    swizzle: int
    element_bits: int
    transposed: bool
    axes: int

    def __init__(
        self,
        shape: Any,
        order: Any = None,
        elemType: Any = None,
        numCTAsPerCGA: Any = None,
        numCTASplit: Any = None,
        numCTAOrder: Any = None,
        fp4Padded: Any = False,
        swizzled: Any = True,
    ) -> None:
        name = "nv_mma_shared_layout"
        check_one_block(name, numCTAsPerCGA, numCTASplit)
        dims, dtype = items(shape), plain(elemType)
        if dims is None or not all(is_integer(d) and d > 0 for d in dims) or not isinstance(dtype, core.dtype):
            raise LayoutError(
                f"{name} is made for a shape and a dtype",
                table=[Row("shape, elemType", "e.g. [64, 64], tl.float16", f"{shape}, {elemType}")],
            )
        if plain(fp4Padded):
            raise LayoutError(f"{name}: fp4Padded is not there: Triton's language has no dtype of four bits")
        axes = len(dims)
        forward = tuple(reversed(range(axes)))
        given = forward if plain(order) is None else check_permutation(name, "order", order, axes)
        if given not in (forward, forward[::-1]):
            raise LayoutError(f"{name}: rows or columns lie side by side", table=[Row("order", "[1, 0]", str(order))])
        transposed = axes > 1 and given != forward
        swizzle = widest_swizzle(dims[::-1] if transposed else dims, memory_bits(dtype)) if plain(swizzled) else 0
        if transposed:
            _check_transposed(swizzle)
        self._set(swizzle, memory_bits(dtype), transposed, axes)

    def _set(self, swizzle: int, bits: int, transposed: bool, axes: int) -> None:
        object.__setattr__(self, "swizzle", swizzle)
        object.__setattr__(self, "element_bits", bits)
        object.__setattr__(self, "transposed", transposed)
        object.__setattr__(self, "axes", axes)

    @classmethod
    @called_in_kernels
    def make_default(cls, shape: Any, dtype: Any) -> nv_mma_shared_layout:
        """The widest swizzle that a row of the shape holds."""
        return cls(shape, None, dtype)

    @property
    def rank(self) -> int:
        return self.axes

    def make_permute(self, dims: Sequence[int]) -> nv_mma_shared_layout:
        moved = check_permutation("nv_mma_shared_layout.make_permute", "dims", dims, self.axes)
        if moved == tuple(range(self.axes)):
            return self
        if self.axes != 2:
            raise LayoutError("nv_mma_shared_layout: only the axes of rank 2 change places")
        if not self.transposed:
            _check_transposed(self.swizzle)
        made = object.__new__(nv_mma_shared_layout)
        made._set(self.swizzle, self.element_bits, not self.transposed, self.axes)
        return made

    def to_ir(self, builder: Any) -> Any:
        return builder.get_nvmma_shared_layout(self.swizzle, self.element_bits, self.transposed, False, [], self.axes)

    def check(self, shape: Sequence[int], bits: int) -> None:
        check_rank(self, shape)
        if self.axes < 2 or bits not in ELEMENT_BITS or bits != self.element_bits:
            raise LayoutError(
                "nv_mma_shared_layout holds tiles of elements of 8, 16 or 32 bits, of the dtype it was made for",
                table=[
                    Row("rank of a slot", "2 or more", str(self.axes)),
                    Row("bits of an element", f"{self.element_bits}", str(bits)),
                ],
            )
        rows = shape[::-1] if self.transposed else shape
        if self.swizzle and (rows[-1] * bits // 8 < self.swizzle or prod(rows[:-1]) < SWIZZLE_ROWS):
            raise LayoutError(
                "the layout was made for a larger shape: its swizzle does not fit into this one",
                table=[
                    Row("bytes of a row", f"at least {self.swizzle}", str(rows[-1] * bits // 8)),
                    Row("rows", f"at least {SWIZZLE_ROWS}", str(prod(rows[:-1]))),
                ],
            )

    @property
    def text(self) -> str:
        return f"nvmma_{self.swizzle}_{self.element_bits}_{'t' if self.transposed else 'n'}{self.axes}"

    @property
    def alignment(self) -> int:
        return max(128, self.swizzle * SWIZZLE_ROWS)


def _check_transposed(swizzle: int) -> None:
    """Triton 3.6 and 3.7 take columns of a layout without swizzle for rows: a wrong view, without an error."""
    if not swizzle and VERSION < (3, 8):
        raise LayoutError(
            "this Triton cannot transpose nv_mma_shared_layout without a swizzle",
            table=[Row("swizzle", "32, 64 or 128 bytes", "none")],
            hint="give alloc nv_mma_shared_layout=False, or a tile of wider rows",
        )
