"""A worker thread's own memory: its context as compiled kernels see it, and their scratch."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import ToolchainError

# Fields of a context, 8 bytes each; `tle_raw.flir.cpu` describes them.
SCRATCH, STATUS, TEAM, FLAGS, RANGES = range(5)
FIELDS = 8
DEBUG_FLAG = 1
STREAM_FLAG = 2  # the launch writes more than the caches hold
# Fields of a status record.
CODE, PROGRAM, DETAIL = 0, slice(1, 4), slice(4, 8)
STATUS_FIELDS = 8
CANCELLED = -1  # a code that no check has: programs that have not begun return at once
ALIGNMENT = 64


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


def flush_output() -> None:
    """Write what ``printf`` has kept back."""
    global _C_LIBRARY
    ffi = load_cffi()
    if _C_LIBRARY is None:
        ffi.cdef("int fflush(void *);")
        _C_LIBRARY = ffi.dlopen(None)
    _C_LIBRARY.fflush(ffi.NULL)


_C_LIBRARY: Any = None


class Context:
    """The 8-byte fields that ``tle_launch`` gets. One thread uses it at a time; what it holds stays for the next.

    ``status`` and ``grid`` are those of a launch that this context's thread has begun; helpers look at them, too.
    """

    def __init__(self) -> None:
        self.ffi = load_cffi()
        self.fields = self.ffi.new(f"int64_t[{FIELDS}]")
        self.pointer = self.ffi.cast("void *", self.fields)
        self.status = self.ffi.new(f"int64_t[{STATUS_FIELDS}]")
        self.status_address = self._address(self.status)
        self.grid = self.ffi.new("int32_t[3]")
        self._scratch: Any = None
        self._scratch_bytes = 0

    def prepare(self, status_address: int, scratch_bytes: int, flags: int, ranges_address: int) -> None:
        """Set the fields for one launch."""
        if scratch_bytes > self._scratch_bytes:
            self._grow(scratch_bytes)
        fields = self.fields
        fields[STATUS], fields[FLAGS], fields[RANGES] = status_address, flags, ranges_address

    def _grow(self, needed: int) -> None:
        self._scratch = self.ffi.new("char[]", needed + ALIGNMENT)
        self._scratch_bytes = needed
        self.fields[SCRATCH] = -(-self._address(self._scratch) // ALIGNMENT) * ALIGNMENT

    def _address(self, memory: Any) -> int:
        return int(self.ffi.cast("intptr_t", memory))
