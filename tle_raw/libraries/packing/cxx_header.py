"""What C++ text says of its functions without a compiler: enough for a first manifest, and for an early check."""

from __future__ import annotations

from dataclasses import dataclass

from tle_raw.adapters.cpp.declarations import CppFunction
from tle_raw.adapters.cpp.number_types import memory_dtype, number_dtype
from tle_raw.fragments.dtypes import DType

_QUALIFIERS = frozenset(
    ["const", "volatile", "__restrict__", "__restrict", "restrict", "static", "inline", "__inline__", "__forceinline__",
     "__noinline__", "__device__", "__host__", "constexpr", "extern", '"C"', "__global__"]
)  # fmt: skip


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


def _spellings(words: frozenset[str]) -> list[str]:
    order = ["unsigned", "signed", "long", "short", "char", "int", "float", "double", "bool"]
    known = sorted(words, key=lambda word: (order.index(word) if word in order else -1, word))
    joined = " ".join(known)
    return [joined, joined.replace("long", "long long"), joined.removesuffix(" int")]
