"""TIR's dtypes as ours."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.tilelang.narrow import is_narrow
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
    if "float6" in name or "unpacked" in name or name.rpartition("x")[2].isdecimal():
        return "declare the bytes that hold them: int8 or uint8"
    return f"these cross: {', '.join(_OURS)}, float8_e8m0fnu, float4_e2m1fn, int4, uint4"


def dtype_of(name: object) -> DType:
    """Ours of TIR's; bytes for those that only TileLang has: see ``narrow.py``.

    Raises
    ------
    SignatureError : elements of six bits, vectors and handles cross no boundary.
    """
    found = "u8" if is_narrow(name) else _OURS.get(str(name))
    if found is None:
        raise SignatureError(f"TileLang's dtype {str(name)!r} cannot cross into a fragment", hint=_hint(str(name)))
    return parse_dtype(found)


def torch_dtype(name: object) -> Any:
    """Torch's of TIR's, of those that cross."""
    import torch

    if is_narrow(name):
        return torch.uint8
    others = {"float8_e4m3": "float8_e4m3fn", "custom[tfloat32]": "float32"}
    return getattr(torch, others.get(str(name), str(name)))
