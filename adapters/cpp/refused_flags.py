"""Refuses flags that would change what the adapter itself decides, or make clang do something else than compile."""

from __future__ import annotations

import re

from tle_raw.errors import DialectError

_OUTPUT = "the compiler always writes LLVM IR"
_QUESTION = "it asks the compiler a question instead of compiling; run the compiler itself"
_TARGET = "the target gives the architecture"
_LINKED = "everything is linked into one kernel anyway"
# By how a flag begins, and what to write instead.
_REFUSED = {
    "-o": "the output belongs to tle_raw",
    "-M": "the dependency files belong to tle_raw",
    "-emit-": _OUTPUT,
    "-fsyntax-only": _OUTPUT,
    "-save-temps": "the output belongs to tle_raw",
    "--save-temps": "the output belongs to tle_raw",
    "--precompile": _OUTPUT,
    "--preprocess": _OUTPUT,
    "--assemble": _OUTPUT,
    "--compile": _OUTPUT,
    "--output": "the output belongs to tle_raw",
    "--analyze": _OUTPUT,
    "--extract-api": _OUTPUT,
    "-extract-api": _OUTPUT,
    "-rewrite-": _OUTPUT,
    "-module-file-info": _OUTPUT,
    "-verify-pch": _OUTPUT,
    "-x": "the language is CUDA",
    "--language": "the language is CUDA",
    "--cuda-": "the target gives the architecture; knobs.cuda.toolkit names a toolkit",
    "-nocuda": "the headers come from knobs.cuda.toolkit",
    "--offload": _TARGET,
    "-target": _TARGET,
    "--target": _TARGET,
    "-march": _TARGET,
    "-arch": _TARGET,
    "-gencode": _TARGET,
    "-resource-dir": "knobs.cuda.clang names a clang",
    "-fgpu-rdc": _LINKED,
    "-flto": _LINKED,
    "-rdc": _LINKED,
    "--version": _QUESTION,
    "--help": _QUESTION,
    "-help": _QUESTION,
    "--print-": _QUESTION,
    "-print-": _QUESTION,
    "-dump": _QUESTION,
    "-ast-": _QUESTION,
    "--autocomplete": _QUESTION,
    "-ccc-": _QUESTION,
    "-###": _QUESTION,
    "-cc1": "it is another program inside the compiler",
    "--driver-mode": "the language is CUDA",
    "--config": "flags are given one by one, so that they can be part of what a compilation is known by",
    "-dependency-": "the dependency files belong to tle_raw",
}
_REFUSED_WHOLE = {
    "-c": _OUTPUT, "-S": _OUTPUT, "-E": _OUTPUT, "-dM": _OUTPUT, "-dD": _OUTPUT, "-dI": _OUTPUT, "-P": _OUTPUT,
    "-V": _QUESTION, "-": "the input belongs to tle_raw", "--": "the input belongs to tle_raw",
    "-fno-integrated-cc1": _OUTPUT,
}  # fmt: skip
_MACRO = re.compile(r"[A-Za-z_$][\w$]*(\([\w$,. ]*\))?")
_KEYWORDS = (
    "alignas alignof asm auto bool break case catch char char16_t char32_t class const const_cast constexpr continue "
    "decltype default defined delete do double dynamic_cast else enum explicit extern false float for friend goto if "
    "inline int long mutable namespace new noexcept nullptr operator private protected public register "
    "reinterpret_cast return short signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while"
)


def check_flag(flag: str) -> None:
    """Refuse what would break the adapter.

    Raises
    ------
    DialectError : with the reason.
    """
    reason = _REFUSED_WHOLE.get(flag) or next((r for start, r in _REFUSED.items() if flag.startswith(start)), None)
    if reason:
        raise DialectError(f"the flag {flag!r} cannot be used here: {reason}")
    if not flag.startswith("-"):
        raise DialectError(
            f"the flag {flag!r} would be a second input file",
            hint="each flag is its own item: flags=('-I', 'folder')",
        )


def check_define(define: str) -> None:
    """Refuse a macro that is none, or one that would change the language for all that is compiled with it.

    Raises
    ------
    DialectError : with the reason.
    """
    name, _, value = define.partition("=")
    if not _MACRO.fullmatch(name):
        raise DialectError(
            f"the define {define!r} has no macro's name: {name!r}", hint='write defines={"NAME": value} or "NAME=value"'
        )
    if name in _KEYWORDS.split():
        raise DialectError(
            f"the define {define!r} would change the word `{name}` of the language, in tle_raw's own code too",
            hint="give the macro another name",
        )
    if "\n" in value or "\r" in value:
        raise DialectError(f"the define {define!r} has more than one line")
