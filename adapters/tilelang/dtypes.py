"""TIR's dtypes as ours."""

from __future__ import annotations

from tle_raw.dtypes import DType, parse_dtype
from tle_raw.errors import SignatureError

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


def dtype_of(name: object) -> DType:
    """Ours of TIR's.

    Raises
    ------
    SignatureError : elements smaller than a byte, vectors and handles cross no border.
    """
    found = _OURS.get(str(name))
    if found is None:
        raise SignatureError(
            f"TileLang's dtype {str(name)!r} cannot cross into a fragment",
            hint="packed types cross as the bytes that hold them: int8 or uint8",
        )
    return parse_dtype(found)
