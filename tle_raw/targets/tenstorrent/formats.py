"""Data formats: what dtypes are in tiles, and how large those are."""

from __future__ import annotations

from tle_raw.errors import Row, UnsupportedFeatureError

FORMATS = {
    "float16": "Float16",
    "bfloat16": "Float16_b",
    "float32": "Float32",
    "int32": "Int32",
}
# Block floats hold sixteen mantissas to an exponent: a tile of 1024 elements has 64 exponents.
PAGE_BYTES = {"Float16": 2048, "Float16_b": 2048, "Float32": 4096, "Int32": 4096, "Bfp8_b": 1088, "Bfp4_b": 576}
BLOCK_FLOATS = {"bfp8_b": "Bfp8_b", "bfp4_b": "Bfp4_b"}
WIDE = ("Float32", "Int32")


def check_dtype(name: str, dtype: str) -> None:
    """Whether tiles can hold it.

    Raises
    ------
    UnsupportedFeatureError : they cannot.
    """
    if dtype not in FORMATS:
        raise UnsupportedFeatureError(
            f"`{name}` has a dtype that tiles do not hold here",
            table=[Row(f"dtype of {name}", ", ".join(FORMATS), dtype)],
        )
