"""``dialect`` with FlagTree's options."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from typing import Any

import triton

from tle_raw.errors import DialectError, Row
from tle_raw.fragments.dialects import dialect as declare
from tle_raw.fragments.fragment import Fragment
from tle_raw.fragments.nvshmem_library import HEADERS, NvshmemLibrary, set_up_modules
from tle_raw.fragments.nvshmem_library import NAME as NVSHMEM

# What says how FlagTree compiles and has no meaning here: its passes, and when and by whom it compiles.
_OF_ITS_COMPILATION = ("pipeline", "deferred", "compiler", "target")
_COMPILERS = ("clang", "nvcc")


def dialect(*, name: str, **options: Any) -> Callable[[Callable[..., Any]], Fragment]:
    """FlagTree's ``@dialect(name="cuda", file=…, extern_func_name=…)`` and ``@dialect(name="mlir")``.

    Its options ``pipeline``, ``deferred``, ``compiler`` and ``target`` say how FlagTree compiles; a fragment is
    compiled here as ``tle_raw.dialect`` does, by clang, and they are passed over. The fragment keeps ``deferred`` and
    ``extern_func_name``, which programs print. CUDA code gets the flags of ``triton.knobs.nvidia.tle_raw_clang_flags``
    and of the environment's ``CLANG_FLAGS``. With ``library="nvshmem"`` the functions that it calls of NVSHMEM's device
    library are linked, ``nvshmem.h`` and ``nvshmemx.h`` declare them, and NVSHMEM's host library is told of each kernel
    that is loaded; ``triton.knobs.nvidia.nvshmem_home`` or ``NVSHMEM_HOME`` says where NVSHMEM is, if not in its wheel.
    The other options are those of ``tle_raw.dialect``.

    Raises
    ------
    DialectError : an unknown dialect, option, compiler or library. ToolchainError : NVSHMEM is not installed.
    """
    linked = [options.pop(key) for key in ("library", "libs") if options.get(key)]
    compiler = options.get("compiler") or _COMPILERS[0]
    if compiler not in _COMPILERS:
        raise DialectError(
            f"compiler={compiler!r} is no compiler of CUDA code",
            table=[Row("compiler", " or ".join(_COMPILERS), repr(compiler))],
        )
    kept = {key: value for key, value in options.items() if key not in _OF_ITS_COMPILATION}
    if name == "cuda" and (flags := _clang_flags()):
        kept["flags"] = [*kept.get("flags", ()), *flags]
    for library in linked:
        _link(library, name, kept)

    def declare_stub(stub: Callable[..., Any]) -> Fragment:
        return _with_facts(declare(name, **kept)(stub), options)

    return declare_stub


def _link(library: Any, name: str, kept: dict[str, Any]) -> None:
    """Add what a library's name stands for to the options."""
    if library != NVSHMEM:
        raise DialectError(
            f"library={library!r} is not linked",
            table=[Row("library", repr(NVSHMEM), repr(library))],
            hint="libraries=[…] links files of LLVM IR, bitcode, PTX, fatbins, LTO-IR and archives",
        )
    home = getattr(triton.knobs.nvidia, "nvshmem_home", None)
    made = NvshmemLibrary(home=str(home) if home else "")
    made.require()
    set_up_modules()
    kept["libraries"] = [*kept.get("libraries", ()), made]
    if name == "cuda":
        kept["include_dirs"] = [*kept.get("include_dirs", ()), HEADERS]


def _clang_flags() -> list[str]:
    given = getattr(triton.knobs.nvidia, "tle_raw_clang_flags", "") or ""
    return shlex.split(given) + shlex.split(os.environ.get("CLANG_FLAGS", ""))


def _with_facts(fragment: Fragment, options: Mapping[str, Any]) -> Fragment:
    """What FlagTree's objects tell of their options."""
    for key, default in (("deferred", False), ("extern_func_name", None)):
        setattr(fragment, key, options.get(key, default))
    return fragment
