"""Elements that neither Triton nor a signature has a type of: they cross as the bytes that hold them.

``float8_e8m0fnu`` is a byte, the exponent of a power of two. Of types of four bits a byte holds two neighbours along
the last dim, the first in its low half, as torch's ``float4_e2m1fn_x2`` has them: an array's last dim is half as long
as its buffer's.
"""

from __future__ import annotations

from typing import Any

_PER_BYTE = {"float8_e8m0fnu": 1, "float4_e2m1fn": 2, "int4": 2, "uint4": 2}
# Arrays that hold such elements, by their own dtype.
_HOLD = {"float8_e8m0fnu": ("float8_e8m0fnu",), "float4_e2m1fn": ("float4_e2m1fn_x2",), "int4": (), "uint4": ()}
_BYTES = ("uint8", "int8")


def is_narrow(dtype: object) -> bool:
    """Whether TIR's dtype is one of these."""
    return str(dtype) in _PER_BYTE


def per_byte(dtype: object) -> int:
    """How many elements a byte holds; 1 for all that are not of four bits."""
    return _PER_BYTE.get(str(dtype), 1)


def holders(dtype: object) -> tuple[str, ...]:
    """The dtypes of arrays that hold elements of it, the best first."""
    return (*_HOLD[str(dtype)], *_BYTES)


def as_bytes(array: Any) -> Any:
    """The same memory as bytes, which Triton launches with."""
    if str(array.dtype).removeprefix("torch.") == "uint8":
        return array
    import torch

    if isinstance(array, torch.Tensor):
        return array.view(torch.uint8)
    return array.view("uint8")
