"""Writes the LLVM function that a signature asks for."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.signature import Const, Element, Parameter, Pointer, Signature, Tile
from tle_raw.linker.llvm.text import encode_name

_WORDS = {"In": "read", "Out": "written", "InOut": "read and written"}


def prototype_text(symbol: str, signature: Signature) -> str:
    """A definition that fits; a dtype that each call binds is shown as f32."""
    return "\n".join(_lines(symbol, signature)) + "\n"


def _lines(symbol: str, signature: Signature) -> Iterator[str]:
    yield 'target triple = "nvptx64-nvidia-cuda"'
    yield ""
    names = [n for n in (getattr(p.type, "dtype", None) for p in signature.parameters) if isinstance(n, str)]
    for name in dict.fromkeys(names):
        yield f"; {name} is shown as f32: LLVM IR has one type for each function"
    for parameter in signature.parameters:
        note = _note(parameter)
        if note:
            yield f"; {note}"
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


def _note(parameter: Parameter) -> str:
    type_ = parameter.type
    if isinstance(type_, Tile):
        shape = " x ".join(map(str, type_.dims))
        where = f"in shared memory, row-major, {_WORDS[parameter.effect]} by the whole block"
        return f"{parameter.name}: {shape} elements of {type_.dtype} {where}"
    if isinstance(type_, Pointer):
        return f"{parameter.name}: {type_.dtype} in global memory"
    if isinstance(type_, Element):
        return f"{parameter.name}: one element; the function is called once for each"
    return (
        f"{parameter.name}: an integer that is known at compile time; may be left out"
        if isinstance(type_, Const)
        else ""
    )
