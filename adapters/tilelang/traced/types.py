"""TIR's dtypes as Triton's."""

from __future__ import annotations

from triton.language import core

_TRITON = {
    "bool": core.int1,
    "int8": core.int8,
    "int16": core.int16,
    "int32": core.int32,
    "int64": core.int64,
    "uint8": core.uint8,
    "uint16": core.uint16,
    "uint32": core.uint32,
    "uint64": core.uint64,
    "float16": core.float16,
    "bfloat16": core.bfloat16,
    "float32": core.float32,
    "float64": core.float64,
    "custom[tfloat32]": core.float32,
    "float8_e4m3": core.float8e4nv,
    "float8_e4m3fn": core.float8e4nv,
    "float8_e5m2": core.float8e5,
}


def triton_dtype(name: object) -> core.dtype | None:
    """Triton's of TIR's; None for what Triton has no scalar of."""
    return _TRITON.get(str(name))


def bits_of(dtype: core.dtype) -> core.dtype:
    """The integers that are as wide."""
    return {8: core.int8, 16: core.int16, 32: core.int32, 64: core.int64}[dtype.primitive_bitwidth]


def padded(extent: int) -> int:
    """The block dim that holds an extent: the next power of two."""
    return 1 << (extent - 1).bit_length() if extent > 1 else 1
