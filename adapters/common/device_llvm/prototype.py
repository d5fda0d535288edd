"""Writes the LLVM function that a signature asks for."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.adapters.common.parameter_notes import parameter_notes
from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.parameter_types import Const, Element, Parameter, Pointer, Tile
from tle_raw.fragments.signature import Signature
from tle_raw.linker.llvm.text import encode_name


def prototype_text(symbol: str, signature: Signature) -> str:
    """A definition that fits; a dtype that each call binds is shown as f32."""
    return "\n".join(_lines(symbol, signature)) + "\n"


def _lines(symbol: str, signature: Signature) -> Iterator[str]:
    yield 'target triple = "nvptx64-nvidia-cuda"'
    yield ""
    yield from (f"; {note}" for note in parameter_notes(signature))
    taken = ", ".join(f"{_type(p)} {encode_name('%', p.name)}" for p in signature.parameters)
    result = _value(signature.result.dtype) if signature.result else "void"
    yield f"define {result} {encode_name('@', symbol)}({taken}) {{"
    yield f"  ret {result} zeroinitializer" if signature.result else "  ret void"
    yield "}"


def _value(dtype: DType | str) -> str:
    return "float" if isinstance(dtype, str) else dtype.llvm


def _type(parameter: Parameter) -> str:
    type_ = parameter.type
    if isinstance(type_, Tile):
        return "ptr addrspace(3)"
    if isinstance(type_, Pointer):
        return "ptr addrspace(1)"
    if isinstance(type_, Const):
        return "i32"
    if isinstance(type_, Element) and parameter.effect != "In":
        return "ptr"
    return _value(type_.dtype)  # type: ignore[attr-defined]
