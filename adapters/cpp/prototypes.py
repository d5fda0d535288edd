"""The C prototype of a function as clang itself understands it, read from its syntax tree.

The function is named once more below the user's code, in the arguments of a template: their types are canonical, with
typedefs resolved, arrays decayed, template parameters replaced and one overload chosen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.cpp.spelling import SAME
from tle_raw.fragments.dtypes import DTYPES, DType

PROBE = "tle_raw_probe"
DUMP = ("-fsyntax-only", "-Xclang", "-ast-dump=json", "-Xclang", f"-ast-dump-filter={PROBE}")

_DTYPES = {
    spelled: dtype for dtype in DTYPES.values() for spelled in (dtype.cxx, *SAME.get(dtype.name, "").split(", "))
}
# CUDA's vectors of numbers, and complex numbers: memory that holds them is memory of their numbers.
_COMPLEX = re.compile(r"(?:\w+::)*complex<(float|double)>")
_VECTOR = re.compile(r"(u?)(char|short|int|long|longlong|float|double)[1234](?:_\w+)?")


@dataclass(frozen=True)
class CxxType:
    """``text`` is the whole type; ``pointee`` the text behind a pointer, its qualifiers left out, or ""."""

    text: str
    pointee: str = ""
    is_const: bool = False

    @property
    def dtype(self) -> DType | None:
        """The dtype of a number, or of the numbers behind a pointer; None for what is none of ours."""
        return number_dtype(self.pointee or self.text) or (parts_dtype(self.pointee) if self.pointee else None)


@dataclass(frozen=True)
class Prototype:
    """What a function returns and takes."""

    result: CxxType
    parameters: tuple[CxxType, ...]

    def to_json(self) -> str:
        """As the cache keeps it: the result's and the parameters' types."""
        return json.dumps([[t.text, t.pointee, t.is_const] for t in (self.result, *self.parameters)])


def number_dtype(spelled: str) -> DType | None:
    """The dtype of a C++ type as written, or None."""
    return _DTYPES.get(spelled)


def prototype_from_json(text: str) -> Prototype:
    """The inverse of ``Prototype.to_json``."""
    result, *parameters = (CxxType(*values) for values in json.loads(text))
    return Prototype(result, tuple(parameters))


def probe_lines(address: str) -> Iterator[str]:
    """C++ text that names the function at ``address``, such as ``&::ns::scale<float, 4>``."""
    yield f"template <class... Types> struct {PROBE}_types {{}};"
    yield (
        f"template <class Result, class... Parameters> "
        f"{PROBE}_types<Result, Parameters...> {PROBE}_of(Result (*)(Parameters...));"
    )
    yield f"using {PROBE}_answer = decltype({PROBE}_of({address}));"


def read_prototype(dump: str) -> Prototype | None:
    """The prototype in clang's dump of the tree; None where it is not in it."""
    for node in _documents(dump):
        if node.get("kind") == "ClassTemplateDecl" and node.get("name") == f"{PROBE}_types":
            for inner in node.get("inner", ()):
                if inner.get("kind") == "ClassTemplateSpecializationDecl":
                    arguments = next(n for n in inner["inner"] if n["kind"] == "TemplateArgument")
                    result, *parameters = map(_type, arguments["inner"])
                    return Prototype(result, tuple(parameters))
    return None


def _documents(dump: str) -> Iterator[dict[str, Any]]:
    """A filtered dump is one JSON value after the other."""
    decoder, position = json.JSONDecoder(), dump.find("{")
    while position >= 0:
        value, end = decoder.raw_decode(dump, position)
        yield value
        position = dump.find("{", end)


def _type(argument: dict[str, Any]) -> CxxType:
    text = argument["type"]["qualType"]
    node: dict[str, Any] = next(iter(argument.get("inner", ())), {})
    if node.get("kind") != "PointerType":
        return CxxType(text)
    pointee = node["inner"][0]
    qualifiers = pointee.get("qualifiers", "").split() if pointee["kind"] == "QualType" else []
    if qualifiers:
        pointee = pointee["inner"][0]
    return CxxType(text, pointee["type"]["qualType"], "const" in qualifiers)


def parts_dtype(spelled: str) -> DType | None:
    """The dtype of the numbers that ``float4`` or ``pycuda::complex<float>`` is made of, or None."""
    is_complex = _COMPLEX.fullmatch(spelled.replace(" ", ""))
    if is_complex:
        return _DTYPES[is_complex[1]]
    match = _VECTOR.fullmatch(spelled)
    if match is None:
        return None
    base = {"longlong": "long long", "char": "signed char"}.get(match[2], match[2])
    return _DTYPES["unsigned " + base.replace("signed ", "")] if match[1] else _DTYPES[base]
