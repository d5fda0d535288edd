"""CuPy's compiler options, which are NVRTC's or nvcc's, as clang's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tle_raw.errors import DialectError

# CuPy appends -ftz=true to whatever it compiles.
FLUSH = "-fgpu-flush-denormals-to-zero"

_LONG = {
    "--define-macro": "-D", "--undefine-macro": "-U", "--include-path": "-I", "--pre-include": "-include",
    "--std": "-std=", "-std": "-std=",
}  # fmt: skip
_TAKEN = ("-D", "-U", "-I", "-isystem", "-include", "-std=", "-O", "-W", "-f", "-w")
# Of the host's compiler, of the assembler, of the GPU, and hints: clang needs none of them, Triton has its own.
_WITH_VALUE = (
    "-Xptxas", "--ptxas-options", "-maxrregcount", "--maxrregcount", "-Xcompiler", "--compiler-options", "-ccbin",
    "--compiler-bindir", "-Xlinker", "-arch", "--gpu-architecture", "-code", "--gpu-code", "--diag-suppress",
    "-diag-suppress", "-dopt", "--dopt", "--device-int128", "--builtin-move-forward", "--builtin-initializer-list",
)  # fmt: skip
_WITHOUT_VALUE = (
    "-lineinfo", "--generate-line-info", "-G", "--device-debug", "-g", "-ewp", "--extensible-whole-program",
    "--extra-device-vectorization", "-extra-device-vectorization", "-restrict", "--restrict", "-m64", "-jitify",
    "--expt-relaxed-constexpr", "-expt-relaxed-constexpr", "--extended-lambda", "-extended-lambda", "-v", "--verbose",
)  # fmt: skip
_PRECISION = ("-ftz", "--ftz", "-prec-div", "--prec-div", "-prec-sqrt", "--prec-sqrt")
_TRANSLATED = {
    "--use_fast_math": ("-use_fast_math",),
    "-use_fast_math": ("-use_fast_math",),
    "--disable-warnings": ("-w",),
    **{f"{d}fmad={v}": () if v == "true" else ("-fmad=false",) for d in ("-", "--") for v in ("true", "false")},
    # Always flushed; division and square roots are never the approximate ones.
    **{f"{dashes}={v}": () for dashes in _PRECISION for v in ("true", "false")},
}  # fmt: skip
_REFUSED = {
    "default-device": "clang wants each function marked: write __device__ before it",
    "device-as-default-execution-space": "clang wants each function marked: write __device__ before it",
    "device-c": "everything is linked into one kernel anyway, and kernels launch none",
    "dc": "everything is linked into one kernel anyway, and kernels launch none",
    "rdc": "everything is linked into one kernel anyway, and kernels launch none",
    "relocatable-device-code": "everything is linked into one kernel anyway, and kernels launch none",
    "dlto": "the fragment is linked as LLVM IR, and inlined",
    "lto": "the fragment is linked as LLVM IR, and inlined",
    "modify-stack-limit": "nothing is called, so nothing needs a stack",
}


def clang_flags(options: Any) -> list[str]:
    """The options of a RawKernel or RawModule as flags of the cuda dialect.

    Raises
    ------
    DialectError : an option has no counterpart; the error names it.
    """
    given = [options] if isinstance(options, str) else list(options or ())
    for option in given:
        if not isinstance(option, str):
            raise DialectError(f"CuPy's options are texts, got {option!r}")
    return [FLUSH, *_translated(iter(given))]


def _translated(given: Iterator[str]) -> Iterator[str]:
    for option in given:
        name, equals, value = option.partition("=")
        if option in _TRANSLATED:
            yield from _TRANSLATED[option]
        elif name.lstrip("-") in _REFUSED and option.startswith("-"):
            raise DialectError(f"CuPy's option {option!r} cannot be used here", hint=_REFUSED[name.lstrip("-")])
        elif name in _LONG:
            yield _LONG[name] + (value if equals else next(given, ""))
        elif option in _WITH_VALUE:
            next(given, "")
        elif name in _WITH_VALUE or option in _WITHOUT_VALUE:
            continue
        elif option in ("-D", "-U", "-I", "-isystem", "-include"):
            yield option + next(given, "")
        elif option.startswith(_TAKEN) and not option.startswith("--"):
            yield option
        else:
            raise DialectError(
                f"CuPy's option {option!r} is not known here",
                hint="-D, -I, -std, -include, --use_fast_math and --fmad are carried over",
            )
