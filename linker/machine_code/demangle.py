"""C++ names for people, through the C++ runtime that Triton itself has loaded."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from functools import lru_cache

_LONGEST = 4096  # of a name that is read: the runtime calls itself for each of its parts


def demangle(symbol: str) -> str:
    """``_Z6helperf`` as ``helper(float)``; a name that is not mangled, or cannot be read, stays as it is."""
    if not symbol.startswith("_Z") or len(symbol) > _LONGEST:
        return symbol
    readable = _demangler()
    return readable(symbol) if readable else symbol


@lru_cache(maxsize=1)
def _demangler() -> Callable[[str], str] | None:
    for library in ("libstdc++.so.6", "libc++abi.so.1", "libstdc++.so"):
        with contextlib.suppress(OSError, AttributeError):
            return _caller(ctypes.CDLL(library).__cxa_demangle)
    return None


def _caller(function: Callable[..., int | None]) -> Callable[[str], str]:
    release = ctypes.CDLL(None).free
    release.argtypes, release.restype = [ctypes.c_void_p], None
    function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]  # type: ignore[attr-defined]
    function.restype = ctypes.c_void_p  # type: ignore[attr-defined]

    def readable(symbol: str) -> str:
        address = function(symbol.encode("utf-8", "surrogateescape"), None, None, None)
        if not address:
            return symbol
        try:
            return ctypes.string_at(address).decode(errors="replace")
        finally:
            release(address)

    return readable
