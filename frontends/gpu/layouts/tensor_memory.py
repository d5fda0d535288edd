"""How a tile lies in tensor memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import LayoutError, Row
from tle_raw.frontends.gpu.layouts.shared_layout import (
    called_in_kernels,
    check_one_block,
    check_power,
    check_rank,
    shared_layout,
)
from tle_raw.frontends.lite.arguments import items, plain
from tle_raw.triton_version import VERSION

ROWS = (64, 128)
COLUMNS = 512  # of 32 bits each: the tensor memory of a block
_WIDEST = 256  # columns of one product
_BITS = 32


@dataclass(frozen=True)
class tensor_memory_layout(shared_layout):
    """Rows of a tile are lanes of tensor memory, and its columns that memory's columns of 32 bits.

    Parameters
    ----------
    blockM : rows of a product, 64 or 128, which the tile has.
    blockN : columns of a product, at most 256, which divide the tile's.
    colStride : columns from an element to its neighbour: 1.
    CTASplitM, CTASplitN, twoCTAs : of pairs of blocks that share a product, which are refused.
    """

    blockM: int
    blockN: int

    def __init__(
        self,
        blockM: Any,
        blockN: Any,
        colStride: Any = 1,
        CTASplitM: Any = 1,
        CTASplitN: Any = 1,
        twoCTAs: Any = False,
    ) -> None:
        name = "tensor_memory_layout"
        check_one_block(name, CTASplitM, CTASplitN)
        rows, columns = check_power(name, "blockM", blockM), check_power(name, "blockN", blockN)
        if rows not in ROWS or columns > _WIDEST or plain(colStride) != 1 or plain(twoCTAs):
            raise LayoutError(
                f"{name}: the tile of one block's product, element beside element",
                table=[
                    Row("blockM", "64 or 128", str(rows)),
                    Row("blockN", f"at most {_WIDEST}", str(columns)),
                    Row("colStride", "1", str(plain(colStride))),
                    Row("twoCTAs", "False", str(plain(twoCTAs))),
                ],
            )
        object.__setattr__(self, "blockM", rows)
        object.__setattr__(self, "blockN", columns)

    @classmethod
    @called_in_kernels
    def make_default(cls, shape: Any) -> tensor_memory_layout:
        """Of a tile of this shape."""
        dims = items(shape) or []
        if len(dims) != 2:
            raise LayoutError(
                "tensor_memory_layout is made for a tile", table=[Row("shape", "e.g. [128, 64]", str(shape))]
            )
        return cls(dims[0], min(plain(dims[1]), _WIDEST))

    @property
    def rank(self) -> int:
        return 2

    def make_permute(self, dims: Sequence[int]) -> tensor_memory_layout:
        if list(dims) != [0, 1]:
            raise LayoutError("tensor_memory_layout: the axes of tensor memory stay where they are")
        return self

    def to_ir(self, builder: Any) -> Any:
        more: tuple[Any, ...] = ([1, 1], False) if VERSION < (3, 8) else ([], False, False)
        return builder.get_tensor_memory_layout([self.blockM, self.blockN], 1, *more)

    def check(self, shape: Sequence[int], bits: int) -> None:
        check_rank(self, shape)
        rows, columns = shape
        if bits != _BITS or rows != self.blockM or columns % self.blockN or columns > COLUMNS:
            raise LayoutError(
                "tensor memory holds a tile of 64 or 128 rows and up to 512 columns, of elements of 32 bits",
                table=[
                    Row("shape", f"[{self.blockM}, a multiple of {self.blockN}]", str(list(shape))),
                    Row("bits of an element", str(_BITS), str(bits)),
                ],
            )

    @property
    def text(self) -> str:
        return f"tmem_{self.blockM}x{self.blockN}"
