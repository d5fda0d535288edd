"""Branches of ``#if`` that clang surely does not read where it compiles for NVIDIA's GPUs.

Without the preprocessor only little is known: numbers, macros that every such compilation has, and macros of other
compilers that no text of the program defines. Every other branch counts as one that is read. Nor are comments told from
lines: whoever asks does without a text's line rather than being wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

_CONDITIONAL = re.compile(r"\s*#\s*(?P<word>if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b(?P<rest>.*)", re.DOTALL)
_CHANGED = re.compile(r"^[^\S\n]*#[^\S\n]*(?:define|undef)[^\S\n]+(\w+)", re.MULTILINE)
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_COMMENT = re.compile(r"//.*|/\*.*?\*/")
# How the macros of toolchains, of torch and of C's and Python's headers are called; those of programs, which have a
# word of their own before the first line.
_OF_OTHERS = re.compile(
    r"_|(?:AT|ATEN|BUILD|C10|CAFFE2|CCCL|CG|COOPERATIVE|CPU|CUB|CUDA|CUDART|CUTE|CUTLASS|DBL|EIGEN|FBCODE|FLT|FP|HAVE|HIP"
    r"|INT|LIBCUDACXX|LLONG|LONG|M|MATH|NV|NVCC|NVTX|PTHREAD|PY|PYBIND11|ROCM|THRUST|TLE|TORCH|UINT|USE)\d*_"
)
_OF_PROGRAMS = re.compile(r"[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+")
_TERM = re.compile(r"(!*)(\w+)")
_HAS = frozenset({"__cplusplus", "__clang__", "__CUDA__", "__CUDACC__", "__CUDA_ARCH__"})
_HAS_NOT = frozenset({
    "__APPLE__", "__CUDACC_RTC__", "__HIPCC__", "__HIP__", "__HIP_DEVICE_COMPILE__", "__HIP_PLATFORM_AMD__",
    "__HIP_PLATFORM_HCC__", "__NVCOMPILER", "_MSC_VER", "_WIN32", "_WIN64", "USE_ROCM",
})  # fmt: skip


def changed_macros(texts: Iterable[str]) -> frozenset[str]:
    """The macros that texts define or undefine, in whichever branch."""
    return frozenset(name for text in texts for name in _CHANGED.findall(text))


def undefined_macros(texts: Iterable[str], defined: Collection[str]) -> frozenset[str]:
    """The macros that texts ask for and nobody defines: all texts of a program, but for headers of known libraries."""
    conditions = (found["rest"] for text in texts for line in text.split("\n") if (found := _CONDITIONAL.match(line)))
    names = frozenset(name for condition in conditions for name in _OF_PROGRAMS.findall(condition))
    return frozenset(name for name in names.difference(defined) if not _OF_OTHERS.match(name))


def without_dead_branches(
    text: str, changed: Collection[str] = (), defined: Collection[str] = (), undefined: Collection[str] = ()
) -> str:
    """The text with empty lines for those of dead branches, and for the conditions.

    Parameters
    ----------
    changed : macros that the program, or who compiles it, may define.
    defined : those that are defined from the first line to the last.
    undefined : those that nobody defines (``undefined_macros``).
    """
    known = dict.fromkeys(_HAS.difference(changed), True) | dict.fromkeys(_HAS_NOT.difference(changed), False)
    known |= dict.fromkeys(undefined, False) | dict.fromkeys(defined, True)
    kept, opened = [], list[_Conditional]()
    for line in text.split("\n"):
        found = _CONDITIONAL.match(line)
        if found is None:
            kept.append(line if all(each.is_read for each in opened) else "")
            continue
        kept.append("")
        word = found["word"]
        if word.startswith("if"):
            opened.append(_Conditional())
        if not opened:  # of another file
            continue
        if word == "endif":
            opened.pop()
        else:
            opened[-1].begin_branch(True if word == "else" else _value(word, found["rest"], known))
    return "\n".join(kept)


@dataclass
class _Conditional:
    """One ``#if`` with its branches so far."""

    is_decided: bool = False  # a branch before is read for sure
    is_read: bool = True  # the branch that is open may be

    def begin_branch(self, value: bool | None) -> None:
        self.is_read = value is not False and not self.is_decided
        self.is_decided = self.is_decided or value is True


def _value(word: str, condition: str, known: dict[str, bool]) -> bool | None:
    """Whether a condition holds; None where that is not known."""
    condition = _COMMENT.sub(" ", condition).strip()
    if word.endswith("def"):
        defined = known.get(condition)
        return defined if defined is None or not word.endswith("ndef") else not defined
    plain = _DEFINED.sub(lambda name: str(known.get(name[1] or name[2])).lower(), condition)  # "none" is not known
    if "(" in plain or plain.endswith("\\"):
        return None
    return _any(_all(_term(term, known) for term in terms.split("&&")) for terms in plain.split("||"))


def _term(text: str, known: dict[str, bool]) -> bool | None:
    found = _TERM.fullmatch(text.replace(" ", ""))
    if found is None:
        return None
    word = found[2]
    if word in ("0", "false") or known.get(word) is False:  # a macro that is not defined is 0
        value = False
    elif word in ("1", "true"):
        value = True
    else:
        return None
    return value != (len(found[1]) % 2 == 1)


def _any(values: Iterable[bool | None]) -> bool | None:
    found = list(values)
    return True if True in found else None if None in found else False


def _all(values: Iterable[bool | None]) -> bool | None:
    found = list(values)
    return False if False in found else None if None in found else True
