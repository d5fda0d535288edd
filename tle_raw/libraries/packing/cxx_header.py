"""What C++ text says of its functions without a compiler: enough for a first manifest, and for an early check."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tle_raw.adapters.cpp.declarations import CppFunction
from tle_raw.adapters.cpp.macros import macros_of
from tle_raw.adapters.cpp.number_types import memory_dtype, number_dtype
from tle_raw.fragments.dtypes import DType

_QUALIFIERS = frozenset(
    ["const", "volatile", "__restrict__", "__restrict", "restrict", "static", "inline", "__inline__", "__forceinline__",
     "__noinline__", "__device__", "__host__", "constexpr", "extern", '"C"', "__global__"]
)  # fmt: skip
_ATTRIBUTES = frozenset(["__attribute__", "__declspec", "unused", "always_inline", "used", "visibility"])
_MACRO_NAME = re.compile(r"_*[A-Z][A-Z0-9_]+")
_QUOTED_INCLUDE = re.compile(r'^[^\S\n]*#[^\S\n]*include[^\S\n]*"([^"\n]+)"', re.MULTILINE)
_MOST_HEADERS = 64


@dataclass(frozen=True)
class WrittenType:
    """A parameter's or a result's type. ``dtype`` is None where the text alone does not tell."""

    text: str
    dtype: DType | None
    is_pointer: bool = False
    is_reference: bool = False
    is_const: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is a number for certain."""
        return self.dtype is not None and not self.is_pointer


def written_type(text: str) -> WrittenType:
    """The type that is written so."""
    plain = text.replace("__restrict__", "").replace("__restrict", "").strip()
    is_pointer = plain.endswith(("*", "]"))
    is_reference = plain.endswith("&")
    inner = plain.rstrip("*&").split("[")[0].strip() if is_pointer or is_reference else plain
    words = [word for word in inner.split() if word not in ("const", "volatile")]
    spelled = " ".join(words)
    dtype = memory_dtype(spelled) if is_pointer else number_dtype(spelled)
    deep = is_pointer and plain.rstrip("]").count("*") > 1
    return WrittenType(text, None if deep else dtype, is_pointer, is_reference, "const" in inner.split())


def result_type(function: CppFunction) -> WrittenType | None:
    """What a function returns; None for nothing. Its words have no order, which numbers do not need."""
    words = function.specifiers - _QUALIFIERS
    if words == {"void"}:
        return None
    if "*" in words or "&" in words:
        return WrittenType(" ".join(sorted(words)), None, True)
    for spelled in _spellings(words):
        dtype = number_dtype(spelled)
        if dtype is not None:
            return WrittenType(spelled, dtype)
    return WrittenType(" ".join(sorted(words)), None)


def macros_for(header: Path, text: str) -> dict[str, frozenset[str]]:
    """The words of each macro that a header defines, or another that it includes from its own folder."""
    texts, waiting = {header.absolute(): text}, [(header.absolute().parent, text)]
    while waiting and len(texts) < _MOST_HEADERS:
        folder, including = waiting.pop()
        for name in _QUOTED_INCLUDE.findall(including):
            file = folder / name
            if file not in texts and file.is_file():
                texts[file] = file.read_text("utf-8", "surrogateescape")
                waiting.append((file.parent, texts[file]))
    return macros_of(texts.values())


def without_macros(function: CppFunction, macros: Mapping[str, frozenset[str]]) -> CppFunction:
    """The function with what its macros stand for: ``ACME_API float f()`` may be ``__device__ inline float f()``.

    A macro that nobody defines counts as a qualifier where a type stands beside it and it is written as macros are.
    """
    words: set[str] = set()
    for word in function.specifiers:
        words |= _meant_by(word, macros, frozenset())
    expanded = replace(function, specifiers=frozenset(words))
    type_ = result_type(expanded)
    if type_ is None or type_.is_number:
        return expanded
    rest = replace(function, specifiers=frozenset(w for w in words if not _MACRO_NAME.fullmatch(w)))
    type_ = result_type(rest)
    return rest if type_ is None or type_.is_number else expanded


def _meant_by(word: str, macros: Mapping[str, frozenset[str]], inside: frozenset[str]) -> set[str]:
    if word not in macros or word in inside or word in _QUALIFIERS:
        return {word}
    found: set[str] = set()
    for each in macros[word]:
        found |= _meant_by(each, macros, inside | {word})
    return found & _QUALIFIERS if found & (_QUALIFIERS | _ATTRIBUTES) or len(found) > 1 else found


def _spellings(words: frozenset[str]) -> list[str]:
    order = ["unsigned", "signed", "long", "short", "char", "int", "float", "double", "bool"]
    known = sorted(words, key=lambda word: (order.index(word) if word in order else -1, word))
    joined = " ".join(known)
    return [joined, joined.replace("long", "long long"), joined.removesuffix(" int")]
