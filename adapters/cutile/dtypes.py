"""cuTile's names of dtypes, by Triton's."""

from __future__ import annotations

_CUTILE = {
    "int1": "bool_",
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2",
}
# Dtypes of cuTile that Triton has no name for, by the one whose values carry them: dtypes= names them.
CARRIED = {"float8_e8m0fnu": "uint8", "float8_e5m3fnu": "uint8", "tfloat32": "fp32"}
# In a function only, one in a byte: in memory two of them share it.
INSIDE = {"float4_e2m1fn": "uint8"}


def cutile_dtype(triton_name: str) -> str | None:
    """None where cuTile has no such dtype."""
    return _CUTILE.get(triton_name)


def triton_name(cutile_name: str) -> str | None:
    """The inverse; None where Triton has no such dtype."""
    by_name = {name: triton for triton, name in _CUTILE.items()}
    return by_name.get(cutile_name) or CARRIED.get(cutile_name) or INSIDE.get(cutile_name)
