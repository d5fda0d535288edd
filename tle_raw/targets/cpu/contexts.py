"""A worker thread's own memory: its context as compiled kernels see it, and their scratch."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import ToolchainError

FIELDS = 8  # five are in use
SCRATCH, STATUS, TEAM, FLAGS, RANGES = range(5)
ALIGNMENT = 64
DEBUG_FLAG = 1


def load_cffi() -> Any:
    """One interface to foreign functions for the process.

    Raises
    ------
    ToolchainError : cffi is missing.
    """
    global _FFI
    if _FFI is None:
        try:
            from cffi import FFI
        except ImportError as e:
            raise ToolchainError(f"launches on the CPU need cffi: {e}", hint="pip install 'tle_raw[cpu]'") from e
        _FFI = FFI()
    return _FFI


_FFI: Any = None


class Context:
    """The 8-byte fields that ``tle_launch`` gets. One thread uses it at a time; what it holds stays for the next."""

    def __init__(self) -> None:
        ffi = load_cffi()
        self.fields = ffi.new(f"int64_t[{FIELDS}]")
        self.pointer = ffi.cast("void *", self.fields)
        self._scratch: Any = None
        self._scratch_bytes = 0

    def prepare(self, status: int, scratch_bytes: int, flags: int, ranges: int) -> None:
        """Set the fields for one launch."""
        if scratch_bytes > self._scratch_bytes:
            self._grow(scratch_bytes)
        self.fields[STATUS] = status
        self.fields[FLAGS] = flags
        self.fields[RANGES] = ranges

    def _grow(self, needed: int) -> None:
        ffi = load_cffi()
        self._scratch = ffi.new("char[]", needed + ALIGNMENT)
        self._scratch_bytes = needed
        address = int(ffi.cast("intptr_t", self._scratch))
        self.fields[SCRATCH] = -(-address // ALIGNMENT) * ALIGNMENT
