"""TIR's dtypes in NumPy: floats are 64 bits wide, and rounded where a narrow buffer or a cast has them narrower."""

from __future__ import annotations

from typing import Any

import numpy as np

SPECIAL = {
    "bfloat16": "bfloat16",
    "float8_e4m3": "float8_e4m3fn",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e4m3fnuz": "float8_e4m3fnuz",
    "float8_e5m2": "float8_e5m2",
    "float8_e5m2fnuz": "float8_e5m2fnuz",
}


class Unevaluated(Exception):
    """Something that this evaluation does not know; says what."""


def held_as(dtype: str) -> Any:
    """What an element of a buffer is kept as."""
    if dtype in ("bool", "uint1"):
        return np.dtype(bool)
    if dtype in SPECIAL or dtype in ("float16", "float32", "float64"):
        return np.dtype(np.float64)
    if dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        return np.dtype(dtype)
    raise Unevaluated(f"the dtype {dtype}")


def is_float(dtype: str) -> bool:
    return dtype in SPECIAL or dtype.startswith("float")


def converted(value: Any, dtype: str, source: str) -> Any:
    """A cast: floats are rounded to it, integers wrap around."""
    dtype = dtype.split("x")[0]
    kind = held_as(dtype)
    value = np.asarray(value)
    if not is_float(dtype):
        if kind.kind == "b":
            return value != 0
        if value.dtype.kind == "f":
            limits = np.iinfo(kind)
            whole = np.trunc(np.nan_to_num(value, nan=0.0))
            return np.clip(whole, float(limits.min), float(limits.max)).astype(kind)
        return value.astype(kind)
    value = value.astype(np.float64)
    return rounded(value, dtype)


def rounded(value: Any, dtype: str) -> Any:
    """To 16 bits and fewer; what has 32 keeps its 64."""
    if dtype == "float16":
        with np.errstate(over="ignore"):
            return value.astype(np.float16).astype(np.float64)
    if dtype not in SPECIAL:
        return value
    import torch

    narrow = getattr(torch, SPECIAL[dtype])
    wide = torch.from_numpy(np.ascontiguousarray(value, dtype=np.float64)).float()
    if dtype.startswith("float8_e4m3"):  # the casts of GPUs saturate
        wide = wide.clamp(-448.0, 448.0)
    return wide.to(narrow).double().numpy().reshape(np.shape(value))


def bits_of(value: Any, source: str, dtype: str) -> Any:
    """``reinterpret``: the same bits as another dtype of the same width."""
    stored = np.asarray(value)
    if is_float(source):
        if source in SPECIAL:
            raise Unevaluated(f"the bits of {source}")
        stored = stored.astype(source)
    target = np.dtype(dtype) if dtype not in SPECIAL else None
    if target is None or target.itemsize != stored.dtype.itemsize:
        raise Unevaluated(f"{source} reinterpreted as {dtype}")
    seen = np.ascontiguousarray(stored).view(target).reshape(np.shape(value))
    return seen.astype(np.float64) if is_float(dtype) else seen
