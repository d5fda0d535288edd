"""What a value of a generated kernel is, and the bounds that say how far two right engines may be apart on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("float16", "bfloat16", "float32", "float64")
WIDE_FLOATS = ("float32", "float64")  # what math functions take
FP8 = ("float8e5", "float8e4nv")
NUMBERS = INTEGERS + FLOATS

# The largest relative error of one rounding.
ROUNDING = {"float16": 2**-11, "bfloat16": 2**-8, "float32": 2**-24, "float64": 2**-53, "float8e5": 2**-3,
            "float8e4nv": 2**-4}  # fmt: skip
# Below this a rounding is no longer relative.
SMALLEST = {"float16": 2**-25, "bfloat16": 2**-134, "float32": 2**-150, "float64": 0.0, "float8e5": 2**-17,
            "float8e4nv": 2**-10}  # fmt: skip


def bits(dtype: str) -> int:
    return 1 if dtype == "int1" else 16 if dtype == "bfloat16" else 8 if dtype in FP8 else int(dtype.lstrip("uintfloa"))


@dataclass(frozen=True)
class Value:
    """A variable. ``shape`` is () for a scalar.

    For floats, ``largest`` bounds the size (infinite: may hold anything, NaN too), and ``error`` how far two right
    engines may differ. An error of 0 means: to the last bit. An inexact value always has a finite bound.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    largest: float = math.inf
    error: float = 0.0

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def is_exact(self) -> bool:
        return self.error == 0

    @property
    def is_finite(self) -> bool:
        """Ordered, too: no NaN."""
        return not self.is_float or math.isfinite(self.largest)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def rounding(dtype: str, largest: float) -> float:
    """How far two roundings of numbers up to ``largest`` may be apart."""
    return 2 * (ROUNDING[dtype] * largest + SMALLEST[dtype])
