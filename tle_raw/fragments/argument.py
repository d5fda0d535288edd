"""What a call passes, described without Triton."""

from __future__ import annotations

from dataclasses import dataclass

from tle_raw.errors import ArgumentTypeError
from tle_raw.fragments.bound import POINTER, SCALAR, TILE
from tle_raw.fragments.dtypes import DTYPES, DType
from tle_raw.fragments.parameter_types import ROW_MAJOR

# kinds of an argument that no parameter has
CONSTANT, POINTER_TILE, BUFFER, BARRIER_KIND, OTHER = "constant", "block of pointers", "buffer", "barrier", "other"
DESCRIPTOR_KIND = "descriptor"


@dataclass(frozen=True)
class Argument:
    """What the call passes, described without Triton: kind, dtype, block shape, and the value when constant.

    ``layout`` is set for shared buffers: ``row_major``, or a layout of ``tle_raw/buffer.h``; and for barriers:
    ``barrier`` or ``ready_barrier``.
    """

    kind: str
    dtype: DType | None = None
    dims: tuple[int, ...] = ()
    value: int | float | bool | None = None
    text: str = ""
    layout: str = ""
    arrivals: int = 0  # of a barrier: those that complete a phase

    def __str__(self) -> str:
        if self.kind == CONSTANT:
            return f"constant {self.value!r}"
        if self.kind in (SCALAR, POINTER):
            return f"{self.kind.capitalize()}[{self.dtype}]"
        if self.kind == TILE:
            return f"Tile[{', '.join(map(str, (self.dtype, *self.dims)))}]"
        if self.kind == BARRIER_KIND:
            return "Barrier"
        if self.kind == DESCRIPTOR_KIND:
            return f"Descriptor[{', '.join(map(str, (self.dtype, *self.dims)))}]"
        if self.kind == BUFFER:
            layout = [] if self.layout == ROW_MAJOR else [self.layout]
            return f"Buffer[{', '.join(map(str, (self.dtype, *self.dims, *layout)))}]"
        return self.text or self.kind


def natural_dtype(value: object) -> DType:
    if isinstance(value, bool):
        return DTYPES["i1"]
    if isinstance(value, float):
        return DTYPES["f32"]
    if isinstance(value, int):
        return DTYPES["i32" if -(2**31) <= value < 2**31 else "i64"]
    raise ArgumentTypeError(f"the constant {value!r} is neither a number nor a bool")
