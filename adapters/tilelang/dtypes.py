"""TIR's dtypes as ours."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import SignatureError
from tle_raw.fragments.dtypes import DType, parse_dtype

_OURS = {
    "bool": "i1",
    **{f"{sign}int{bits}": f"{letter}{bits}" for sign, letter in (("", "i"), ("u", "u")) for bits in (8, 16, 32, 64)},
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "float8_e4m3": "f8e4m3",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
    "custom[tfloat32]": "f32",
}


def _hint(name: str) -> str:
    if "e8m0" in name:
        return (
            "one is a byte that holds an exponent: declare it as uint8, and compute "
            'T.reinterpret(T.Cast("uint32", s) << 23, "float32") of it'
        )
    if "float4" in name or "int4" in name or "float6" in name:
        return "packed types cross as the bytes that hold them: int8 or uint8"
    return f"these cross: {', '.join(_OURS)}"


def dtype_of(name: object) -> DType:
    """Ours of TIR's.

    Raises
    ------
    SignatureError : elements smaller than a byte, vectors and handles cross no boundary.
    """
    found = _OURS.get(str(name))
    if found is None:
        raise SignatureError(f"TileLang's dtype {str(name)!r} cannot cross into a fragment", hint=_hint(str(name)))
    return parse_dtype(found)


def torch_dtype(name: object) -> Any:
    """Torch's of TIR's, of those that cross."""
    import torch

    others = {"float8_e4m3": "float8_e4m3fn", "custom[tfloat32]": "float32"}
    return getattr(torch, others.get(str(name), str(name)))
