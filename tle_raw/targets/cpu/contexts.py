"""A worker thread's own memory: its context as compiled kernels see it, and their scratch."""

from __future__ import annotations

from typing import Any, Protocol

from tle_raw.errors import ToolchainError
from tle_raw.flir.cpu import partition_waits
from tle_raw.flir.cpu.context_fields import FLAGS, GRID_MEMORY, RANGES, SCRATCH, SCRATCH_BYTES, STATUS, WAIT, WORKSPACE
from tle_raw.flir.cpu.context_fields import WORKSPACES as FIRST_WORKSPACE
from tle_raw.flir.cpu.run_fragment import release_workspace

WORKSPACES = slice(FIRST_WORKSPACE, FIRST_WORKSPACE + partition_waits.MOST - 1)  # of the workers of specialised warps
FIELDS = WORKSPACES.stop
DEBUG_FLAG = 1
STREAM_FLAG = 2  # the launch writes more than the caches hold
# Fields of a status record.
CODE, PROGRAM, DETAIL = 0, slice(1, 4), slice(4, 8)
GRID_WORD = partition_waits.FIRST + 2 * partition_waits.MOST  # the barrier of the grid, which needs the same life
STATUS_FIELDS = GRID_WORD + 1
CANCELLED = -1  # a code that no check has: programs that have not begun return at once
ALIGNMENT = 64
# What a program that waits is told.
GO_ON, OVER, STANDSTILL = 0, 1, 2


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


class Asked(Protocol):
    """A launch whose programs may wait for each other."""

    def ask(self, context: Context, news: int) -> int:
        """Whether a program that waits goes on: ``GO_ON``, ``OVER`` or ``STANDSTILL``.

        ``news`` is 1 when memory has changed, 0, or another question: see ``context_fields``.
        """

    def fail(self, error: BaseException) -> None:
        """Let no further program begin, and the launching thread raise this."""


class Context:
    """The 8-byte fields that ``tle_launch`` gets. One thread uses it at a time; what it holds stays for the next.

    ``status`` and ``grid`` are those of a launch that this context's thread has begun; helpers look at them, too.
    """

    def __init__(self) -> None:
        self.ffi = load_cffi()
        self.fields = self.ffi.new(f"int64_t[{FIELDS}]")
        self.pointer = self.ffi.cast("void *", self.fields)
        self.status = self.ffi.new(f"int64_t[{STATUS_FIELDS}]")
        self.status_address = self.address_of(self.status)
        self.grid = self.ffi.new("int32_t[3]")
        self._scratch: Any = None
        self._scratch_bytes = 0
        self._launch: Asked | None = None
        self._ask: Any = None

    def prepare(self, status_address: int, scratch_bytes: int, flags: int, ranges_address: int) -> None:
        """Set the fields for one launch."""
        if scratch_bytes > self._scratch_bytes:
            self._grow(scratch_bytes)
        fields = self.fields
        fields[STATUS], fields[FLAGS], fields[RANGES] = status_address, flags, ranges_address
        fields[SCRATCH_BYTES] = scratch_bytes
        fields[GRID_MEMORY] = status_address + 8 * GRID_WORD

    def listen(self, launch: Asked) -> None:
        """Let programs that wait ask this launch."""
        if self._ask is None:
            self._ask = self.ffi.callback("int32_t(void *, int32_t)", self._answer, error=OVER, onerror=self._raised)
            self.fields[WAIT] = self.address_of(self._ask)
        self._launch = launch

    def _answer(self, _fields: Any, news: int) -> int:
        assert self._launch is not None
        return self._launch.ask(self, news)

    def _raised(self, _kind: Any, error: BaseException, _trace: Any) -> None:
        """An interrupt came while a program asked: the launching thread raises it."""
        if self._launch is not None:
            self._launch.fail(error)

    def release(self) -> None:
        """Give back what regions keep for this thread, at its end."""
        for field in (WORKSPACE, *range(WORKSPACES.start, WORKSPACES.stop)):
            release_workspace(self.fields[field])
            self.fields[field] = 0

    def _grow(self, needed: int) -> None:
        self._scratch = self.ffi.new("char[]", needed + ALIGNMENT)
        self._scratch_bytes = needed
        self.fields[SCRATCH] = -(-self.address_of(self._scratch) // ALIGNMENT) * ALIGNMENT

    @property
    def address(self) -> int:
        """Where the fields are."""
        return self.address_of(self.fields)

    def address_of(self, memory: Any) -> int:
        """Of cffi's memory."""
        return int(self.ffi.cast("intptr_t", memory))
