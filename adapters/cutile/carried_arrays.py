"""Arrays of a launch whose elements Triton has no name for: they go in as bytes, and the region knows their dtype."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.cutile.dtypes import CARRIED
from tle_raw.errors import ArgumentTypeError, Row, TLEError
from tle_raw.fragments.dtypes import parse_dtype


def carried_dtype(values: Any) -> str | None:
    """cuTile's name of an array's dtype where bytes carry it."""
    name = str(getattr(values, "dtype", None)).removeprefix("torch.")
    return name if CARRIED.get(name) == "uint8" else None


def check_dtype(path: str, values: Any) -> None:
    """Raises
    ------
    ArgumentTypeError : no kernel can have such elements.
    """
    name = str(values.dtype).removeprefix("torch.")
    try:
        parse_dtype(CARRIED.get(name, name))
    except TLEError as e:
        raise ArgumentTypeError(
            f"argument `{path}` has elements that a kernel cannot have", table=[Row(path, "a dtype of cuTile's", name)]
        ) from e


def as_bytes(values: Any) -> Any:
    """The same memory."""
    if not hasattr(values, "data_ptr"):
        return values.view("uint8")
    import torch

    return values.view(torch.uint8)
