"""What a program has for nvcc alone: its ``#if defined(__NVCC__)`` asks for ``__CUDACC__``, which clang defines, too.

The macro itself cannot be defined: the toolkit's headers and CCCL would take clang for nvcc. That is why the word is
changed, in the program's own files, and only where one of them says a name there that the compiler misses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from tle_raw.adapters.cpp.mends import Mend

_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b")
_NVCC = re.compile(r"\b__NVCC__\b")


def for_nvcc(names: Collection[str], texts: Mapping[str, str]) -> tuple[Mend, ...]:
    """The changes of all files, by name, where one that asks for nvcc says one of the names; the last place first."""
    asking = {file: tuple(_asked(file, text)) for file, text in texts.items() if "__NVCC__" in text}
    said = any(
        re.search(rf"\b{re.escape(name)}\b", texts[file]) for file, found in asking.items() if found for name in names
    )
    return tuple(mend for found in asking.values() for mend in reversed(found)) if said else ()


def _asked(file: str, text: str) -> Iterator[Mend]:
    for number, line in enumerate(text.split("\n"), 1):
        if _DIRECTIVE.match(line):
            for word in _NVCC.finditer(line):
                column = len(line[: word.start()].encode("utf-8", "surrogateescape")) + 1
                yield Mend(file, number, column, word[0], "__CUDACC__")
