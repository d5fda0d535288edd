"""What a prototype says of its parameters in comments: the types of LLVM and MLIR do not tell it."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.fragments.parameter_types import Barrier, Const, Descriptor, Element, Parameter, Pointer, Tile
from tle_raw.fragments.signature import Signature

_WORDS = {"In": "read", "Out": "written", "InOut": "read and written"}


def parameter_notes(signature: Signature) -> Iterator[str]:
    """A line for each dtype that every call binds, and for each parameter that is no plain number."""
    dtypes = [getattr(parameter.type, "dtype", None) for parameter in signature.parameters]
    for name in dict.fromkeys(dtype for dtype in dtypes if isinstance(dtype, str)):
        yield f"{name} is shown as f32: a function has one type"
    for parameter in signature.parameters:
        note = _note(parameter)
        if note:
            yield f"{parameter.name}: {note}"


def _note(parameter: Parameter) -> str:
    type_ = parameter.type
    if isinstance(type_, Barrier):
        return "a barrier of the kernel: the address of its eight bytes"
    if isinstance(type_, Descriptor):
        return "a tensor descriptor of the kernel: the address of its tensor map"
    if isinstance(type_, Tile):
        elements = f"{' x '.join(map(str, type_.dims))} elements of {type_.dtype}"
        return f"{elements} in shared memory, row-major, {_WORDS[parameter.effect]} by the whole block"
    if isinstance(type_, Pointer):
        return f"{type_.dtype} in global memory"
    if isinstance(type_, Element):
        return "one element; the function is called once for each"
    return "an integer that is known at compile time; may be left out" if isinstance(type_, Const) else ""
