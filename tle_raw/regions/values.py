"""Read Triton's trace-time values as the core's arguments."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import SignatureError
from tle_raw.fragments.argument import CONSTANT, OTHER, POINTER_TILE, Argument
from tle_raw.fragments.bound import POINTER, SCALAR, TILE
from tle_raw.fragments.dtypes import DType, parse_dtype
from tle_raw.regions.shapes import shape_of_type


def describe(value: Any) -> Argument:
    """The kind, dtype and shape of a value that a kernel passes to a fragment."""
    if isinstance(value, core.constexpr):
        value = value.value
    if isinstance(value, (bool, int, float)):
        return Argument(CONSTANT, value=value)
    if not isinstance(value, core.tensor):
        return Argument(OTHER, text=_name_of(value))
    type_ = value.type
    if not type_.is_block():
        return _scalar(type_, value)
    dims = shape_of_type(type_)
    if type_.scalar.is_ptr():
        return Argument(POINTER_TILE, dims=dims, text=f"block of pointers {list(dims)}")
    return Argument(TILE, describe_dtype(type_.scalar), dims)


def _scalar(type_: Any, value: core.tensor) -> Argument:
    if not type_.is_ptr():
        return Argument(SCALAR, describe_dtype(type_))
    if type_.element_ty.is_block():
        return Argument(OTHER, text="block pointer (tl.make_block_ptr)")
    return Argument(POINTER, describe_dtype(type_.element_ty))


def describe_dtype(type_: Any) -> DType:
    """Our dtype of Triton's."""
    try:
        return parse_dtype(type_.name)
    except SignatureError:
        # A dtype that no fragment can have (fp8e4b15 for instance): shown by its name, equal to nothing.
        return DType(type_.name, type_.primitive_bitwidth, type_.name, type_.name, f"i{type_.primitive_bitwidth}")


def _name_of(value: Any) -> str:
    if isinstance(value, (core.tuple, tuple, list)):
        return "tuple"
    if value is None:
        return "None"
    return type(value).__name__.replace("_", " ")


def to_handle_type(dtype: DType) -> core.dtype:
    """Triton's dtype of ours."""
    return core.dtype(dtype.triton)
