"""The C prototype of a function as clang itself understands it, read from its syntax tree.

The function is named once more below the user's code, in the arguments of a template: their types are canonical, with
typedefs resolved, arrays decayed, template parameters replaced and one overload chosen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tle_raw.adapters.cpp.number_types import class_dtype, memory_dtype, number_dtype
from tle_raw.adapters.cpp.told_types import reserved, told_lines, told_types
from tle_raw.fragments.dtypes import DTYPES, DType
from tle_raw.fragments.structs import Node, from_data, to_data

PROBE = "tle_raw_probe"
# A prototype needs no bodies but those that tell a type or a constant, which clang reads all the same.
WITHOUT_BODIES = ("-fsyntax-only", "-Xclang", "-skip-function-bodies")
DUMP = (*WITHOUT_BODIES, "-Xclang", "-ast-dump=json", "-Xclang", f"-ast-dump-filter={PROBE}")
# The same by warnings, for which clang need not go through all that precompiled headers hold. No flag makes errors of
# them; those that silence them leave the dump.
TELL = (*WITHOUT_BODIES, "-Wdeprecated-declarations", "-Wno-error=deprecated-declarations")
# What the compiler tells of a type, or of what a pointer points to, beside its name: bits of a number.
_ENUM, _CLASS, _SIGNED, _SIZE = 1, 2, 4, 16


@dataclass(frozen=True)
class CxxType:
    """``text`` is the whole type; ``pointee`` the text behind a pointer or a reference, its qualifiers left out, or "".

    ``facts`` are the compiler's: the size in bytes, and what kind of type it is. ``struct`` is what a struct that is
    passed by value is made of; ``unknown`` says why nobody can tell.
    """

    text: str
    pointee: str = ""
    is_const: bool = False
    facts: int = 0
    unknown: str = ""
    struct: Node | None = None

    @property
    def dtype(self) -> DType | None:
        """The dtype of a number, or of the numbers behind a pointer; None for what is none of ours."""
        if self.facts & _ENUM:
            return DTYPES[f"{'i' if self.facts & _SIGNED else 'u'}{8 * self.size}"]
        if self.pointee:
            return memory_dtype(self.pointee, self.size)
        return number_dtype(self.text) or (class_dtype(self.text, self.size) if self.facts & _CLASS else None)

    @property
    def size(self) -> int:
        """Bytes of it, or of what it points to; 0 where nobody knows."""
        return self.facts // _SIZE

    @property
    def is_struct(self) -> bool:
        """Whether it is a struct, a class or a union by value, and no number."""
        return not self.pointee and bool(self.facts & _CLASS) and self.dtype is None

    @property
    def is_made(self) -> bool:
        """Whether a value is made of what crosses: a struct, a class that is one number, an enumeration."""
        return self.struct is not None or (
            not self.pointee and self.dtype is not None and number_dtype(self.text) is None
        )


def is_function(spelled: str) -> bool:
    """Whether a type behind a pointer is a function's: ``int (float)``."""
    return spelled.endswith(")") and " (" in spelled and not spelled.startswith("(")


@dataclass(frozen=True)
class Prototype:
    """What a function returns and takes."""

    result: CxxType
    parameters: tuple[CxxType, ...]

    def to_json(self) -> str:
        """As the cache keeps it: the result's and the parameters' types."""
        return json.dumps(
            [
                [t.text, t.pointee, t.is_const, t.facts, t.unknown, to_data(t.struct) if t.struct else None]
                for t in (self.result, *self.parameters)
            ]
        )


def prototype_from_json(text: str) -> Prototype:
    """The inverse of ``Prototype.to_json``."""
    result, *parameters = (
        CxxType(spelled, pointee, is_const, facts, unknown, from_data(struct) if struct else None)
        for spelled, pointee, is_const, facts, unknown, struct in json.loads(text)
    )
    return Prototype(result, tuple(parameters))


def probe_lines(address: str) -> Iterator[str]:
    """C++ text that names the function at ``address``, such as ``&::ns::scale<float, 4>``."""
    yield _TYPES.format(probe=PROBE)
    yield f"using {PROBE}_answer = decltype({PROBE}_of({address}));"
    yield _FACTS.format(probe=PROBE, enum=_ENUM, kind=_CLASS, signed=_SIGNED, size=_SIZE)
    yield f"using {PROBE}_facts_answer = decltype({PROBE}_facts_of({address}));"
    yield from told_lines(PROBE, address)


_TYPES = reserved("""
template <class... Types> struct {probe}_types {{}};
template <class Result, class... Parameters> {probe}_types<Result, Parameters...> {probe}_of(Result (*)(Parameters...));
""")
# Of the result and each parameter; behind a pointer or a reference, of what is there. An incomplete type has no size.
_FACTS = reserved("""
template <class T> struct {probe}_bare {{ using type = T; }};
template <class T> struct {probe}_bare<T*> {{ using type = T; }};
template <class T> struct {probe}_bare<T&> {{ using type = T; }};
template <class T, class = unsigned long> struct {probe}_size {{ static constexpr long value = 0; }};
template <class T> struct {probe}_size<T, decltype(sizeof(T))> {{ static constexpr long value = sizeof(T); }};
template <> struct {probe}_size<void> {{ static constexpr long value = 0; }};
template <class T, bool = __is_enum(T)> struct {probe}_kind {{
  static constexpr long value = __is_class(T) || __is_union(T) ? {kind} : 0;
}};
template <class T> struct {probe}_kind<T, true> {{
  using integer = __underlying_type(T);
  static constexpr long value = {enum} + (static_cast<integer>(-1) < static_cast<integer>(0) ? {signed} : 0);
}};
template <class T> inline constexpr long {probe}_fact = {probe}_size<typename {probe}_bare<T>::type>::value * {size} +
                                                        {probe}_kind<typename {probe}_bare<T>::type>::value;
template <long... Facts> struct {probe}_facts {{}};
template <class Result, class... Parameters>
{probe}_facts<{probe}_fact<Result>, {probe}_fact<Parameters>...> {probe}_facts_of(Result (*)(Parameters...));""")


def read_prototype(dump: str) -> Prototype | None:
    """The prototype in clang's dump of the tree; None where it is not in it."""
    types: list[CxxType] = []
    facts: list[int] = []
    for node in _documents(dump):
        if node.get("kind") == "ClassTemplateDecl" and node.get("name") == f"{PROBE}_types":
            types = types or [_type(argument) for argument in _arguments(node)]
        if node.get("kind") == "ClassTemplateDecl" and node.get("name") == f"{PROBE}_facts":
            facts = facts or [int(argument["value"]) for argument in _arguments(node)]
    if not types:
        return None
    told = [replace(t, facts=f) for t, f in zip(types, facts, strict=True)] if facts else types
    return Prototype(told[0], tuple(told[1:]))


def told_prototype(log: str) -> Prototype | None:
    """The prototype in what clang warned of; None where it did not tell it."""
    told = [CxxType(t.text, t.behind, t.is_const, t.facts) for t in told_types(log, PROBE)]
    return Prototype(told[0], tuple(told[1:])) if told else None


def _specialisation(node: dict[str, Any]) -> list[dict[str, Any]]:
    for inner in node.get("inner", ()):
        if inner.get("kind") == "ClassTemplateSpecializationDecl":
            return [n for n in inner["inner"] if n["kind"] == "TemplateArgument"]
    return []


def _arguments(node: dict[str, Any]) -> list[dict[str, Any]]:
    found = _specialisation(node)
    return list(found[0]["inner"]) if found else []


def _documents(dump: str) -> Iterator[dict[str, Any]]:
    """A filtered dump is one JSON value after the other; layouts may stand before it."""
    begin = re.search(r"^\{", dump, re.MULTILINE)
    decoder, position = json.JSONDecoder(), begin.start() if begin else -1
    while position >= 0:
        value, end = decoder.raw_decode(dump, position)
        yield value
        position = dump.find("{", end)


def _type(argument: dict[str, Any]) -> CxxType:
    text = argument["type"]["qualType"]
    node: dict[str, Any] = next(iter(argument.get("inner", ())), {})
    if node.get("kind") not in ("PointerType", "LValueReferenceType"):
        return CxxType(text)
    pointee = node["inner"][0]
    qualifiers = pointee.get("qualifiers", "").split() if pointee["kind"] == "QualType" else []
    if qualifiers:
        pointee = pointee["inner"][0]
    return CxxType(text, pointee["type"]["qualType"], "const" in qualifiers)
