"""cuTile's types as Triton's."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.adapters.cutile.dtypes import triton_name
from tle_raw.adapters.cutile.ir_types import Variable


def triton_dtype(dtype: Any) -> core.dtype | None:
    """Triton's of cuTile's; None for what Triton has no scalar of. A pointer is one to global memory."""
    pointee = _pointee(dtype)
    if pointee is not None:
        element = triton_dtype(pointee)
        return None if element is None else core.pointer_type(element)
    name = triton_name(dtype.name)
    return None if name is None else core.dtype(name)


def _pointee(dtype: Any) -> Any:
    """What a pointer points to, which may be foreign code's (from 1.7 on); None for what is no pointer."""
    from cuda.tile import _datatype

    if _datatype.is_pointer_dtype(dtype):
        return _datatype.PointerInfo(dtype).pointee_dtype
    if getattr(_datatype, "is_foreign_pointer_dtype", lambda _: False)(dtype):
        return _datatype.foreign_pointer_pointee_dtype(dtype)
    return None


def block_type(element: core.dtype, shape: Any) -> core.dtype:
    """A tile of no dims is a scalar."""
    return core.block_type(element, list(shape)) if shape else element


def is_token(variable: Variable) -> bool:
    """Whether cuTile's variable only orders memory accesses."""
    from cuda.tile._ir.type import TokenTy

    return isinstance(variable.get_type(), TokenTy)


def without_tokens(variables: Any) -> list[Any]:
    return [v for v in variables if not is_token(v)]


def bits_of(width: int, signed: bool = False) -> core.dtype:
    """The integers of a width."""
    return core.dtype(f"{'' if signed else 'u'}int{width}")
