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

# What says how FlagTree compiles and has no meaning here: its passes, and when and by whom it compiles.
_OF_ITS_COMPILATION = ("pipeline", "deferred", "compiler", "target")
_COMPILERS = ("clang", "nvcc")


def dialect(*, name: str, **options: Any) -> Callable[[Callable[..., Any]], Fragment]:
    """FlagTree's ``@dialect(name="cuda", file=…, extern_func_name=…)`` and ``@dialect(name="mlir")``.

    Its options ``pipeline``, ``deferred``, ``compiler`` and ``target`` say how FlagTree compiles; a fragment is
    compiled here as ``tle_raw.dialect`` does, by clang, and they are passed over. The fragment keeps ``deferred`` and
    ``extern_func_name``, which programs print. CUDA code gets the flags of ``triton.knobs.nvidia.tle_raw_clang_flags``
    and of the environment's ``CLANG_FLAGS``. The other options are those of ``tle_raw.dialect``.

    Raises
    ------
    DialectError : an unknown dialect, option or compiler, or a library that is not linked in this release.
    """
    libraries = [options.pop(key) for key in ("library", "libs") if options.get(key)]
    if libraries:
        raise DialectError(
            f"library={libraries[0]!r} is not linked in this release of tle_raw",
            hint="its functions may stand in the fragment's own source; those of NVSHMEM are packed by "
            "`tle-raw pack samples/libraries/nvshmem.toml` and imported (docs/libraries.md)",
        )
    compiler = options.get("compiler") or _COMPILERS[0]
    if compiler not in _COMPILERS:
        raise DialectError(
            f"compiler={compiler!r} is no compiler of CUDA code",
            table=[Row("compiler", " or ".join(_COMPILERS), repr(compiler))],
        )
    kept = {key: value for key, value in options.items() if key not in _OF_ITS_COMPILATION}
    if name == "cuda" and (flags := _clang_flags()):
        kept["flags"] = [*kept.get("flags", ()), *flags]

    def declare_stub(stub: Callable[..., Any]) -> Fragment:
        return _with_facts(declare(name, **kept)(stub), options)

    return declare_stub


def _clang_flags() -> list[str]:
    given = getattr(triton.knobs.nvidia, "tle_raw_clang_flags", "") or ""
    return shlex.split(given) + shlex.split(os.environ.get("CLANG_FLAGS", ""))


def _with_facts(fragment: Fragment, options: Mapping[str, Any]) -> Fragment:
    """What FlagTree's objects tell of their options."""
    for key, default in (("deferred", False), ("extern_func_name", None)):
        setattr(fragment, key, options.get(key, default))
    return fragment
