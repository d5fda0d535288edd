"""The dtypes that kernels may have, and their formats in tiles."""

from __future__ import annotations

from tle_raw.errors import Row, UnsupportedFeatureError
from tle_raw.targets.tenstorrent.formats import SAME_BITS

FORMATS = {dtype: SAME_BITS[dtype] for dtype in ("float16", "bfloat16", "float32", "int32")}
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
