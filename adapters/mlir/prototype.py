"""Writes the MLIR function that a signature asks for."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.adapters.common.parameter_notes import parameter_notes
from tle_raw.fragments.dtypes import DTYPES, DType
from tle_raw.fragments.mlir_types import element_type
from tle_raw.fragments.parameter_types import IN, Barrier, Const, Descriptor, Element, Parameter, Pointer, Scalar, Tile
from tle_raw.fragments.signature import Signature


def prototype_text(symbol: str, signature: Signature) -> str:
    """A definition that fits; a dtype that each call binds is shown as f32."""
    return "\n".join(_lines(symbol.rpartition("::")[2], signature)) + "\n"


def _lines(symbol: str, signature: Signature) -> Iterator[str]:
    yield from (f"// {note}" for note in parameter_notes(signature))
    taken = ", ".join(f"%{p.name}: {_type(p)}" for p in signature.parameters)
    result = f" -> {_value(signature.result)}" if signature.result else ""
    yield f"func.func @{symbol}({taken}){result} {{"
    if signature.result:
        dtype = signature.result.dtype
        is_float = isinstance(dtype, str) or not dtype.is_integer
        yield f"  %result = arith.constant {'0.0' if is_float else '0'} : {_value(signature.result)}"
        yield f"  return %result : {_value(signature.result)}"
    else:
        yield "  return"
    yield "}"


def _type(parameter: Parameter) -> str:
    type_ = parameter.type
    spelling = getattr(type_, "spelling", "")
    if spelling:
        return spelling
    if isinstance(type_, Barrier):
        return "!llvm.ptr<3>"
    if isinstance(type_, Descriptor):
        return "!llvm.ptr"
    if isinstance(type_, Tile):
        dims = "".join(f"{dim if isinstance(dim, int) else '?'}x" for dim in type_.dims)
        return f"memref<{dims}{element_type(_dtype(type_.dtype))}, 3>"
    if isinstance(type_, Pointer):
        return "!llvm.ptr<1>"
    if isinstance(type_, Const):
        return "i32"
    if isinstance(type_, Element) and parameter.effect != IN:
        return "!llvm.ptr"
    return _value(type_)


def _value(type_: object) -> str:
    if isinstance(type_, Scalar) and type_.spelling:
        return type_.spelling
    return element_type(_dtype(type_.dtype))  # type: ignore[attr-defined]


def _dtype(dtype: DType | str) -> DType:
    return DTYPES["f32"] if isinstance(dtype, str) else dtype
