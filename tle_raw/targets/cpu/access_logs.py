"""The logs that programs keep, under ``knobs.debug``, of memory that others reach: ``flir/cpu/convert/access_log``."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from tle_raw.flir.cpu.access_kinds import ENTRY_WORDS, HEADER_WORDS, RELEASE
from tle_raw.flir.cpu.context_fields import LOG
from tle_raw.targets.cpu.arrays import Range
from tle_raw.targets.cpu.contexts import Context

_COUNT, _ROOM, _ENTRIES, _RANGES, _COUNTER, _SINCE_RELEASE = 0, 1, 2, 3, 7, 8
_FIRST_ROOM = 64
_C = ctypes.CDLL(None)
_C.malloc.restype = ctypes.c_void_p
_C.malloc.argtypes = [ctypes.c_size_t]
_C.free.argtypes = [ctypes.c_void_p]


class Counter:
    """Numbers all that orders programs: kernels count ``memory`` up, and between two of its numbers Python counts."""

    def __init__(self) -> None:
        self.memory = ctypes.c_int64(0)
        self._between = count()

    def now(self) -> tuple[int, int]:
        """A place in the order, behind all numbers that kernels have taken."""
        return 2 * self.memory.value - 1, next(self._between)


@dataclass(frozen=True)
class Meeting:
    """What Python has ordered: at which entry of the log, what it is (``access_kinds``), by what, and when."""

    entry: int
    kind: int
    key: Any
    place: tuple[int, int]


class AccessLog:
    """The log of one program; attached to the context of the thread that runs it."""

    def __init__(self, counter: Counter, first: Range, second: Range = Range(0, 0)) -> None:
        self.counter, self.meetings = counter, list[Meeting]()
        self.began = self.ended = counter.now()
        self._header = (ctypes.c_int64 * HEADER_WORDS)()
        self._header[_ROOM] = _FIRST_ROOM
        self._header[_ENTRIES] = _C.malloc(8 * ENTRY_WORDS * _FIRST_ROOM)
        self._header[_RANGES : _RANGES + 4] = [*first, *second]
        self._header[_COUNTER] = ctypes.addressof(counter.memory)

    def attach(self, context: Context) -> None:
        """What the context's thread runs next is logged here."""
        context.fields[LOG] = ctypes.addressof(self._header)

    def detach(self, context: Context) -> None:
        """The program is done."""
        context.fields[LOG] = 0
        self.ended = self.counter.now()

    def order(self, kind: int, key: Any) -> None:
        """The program releases, or acquires, what has this key."""
        self.meetings.append(Meeting(self._header[_COUNT], kind, key, self.counter.now()))
        if kind == RELEASE:
            self._header[_SINCE_RELEASE] = self._header[_COUNT]

    def entries(self) -> Any:
        """All entries, as an int64 array ``[n, ENTRY_WORDS]``."""
        import numpy

        size = self._header[_COUNT] * ENTRY_WORDS
        memory = (ctypes.c_int64 * size).from_address(self._header[_ENTRIES])
        return numpy.array(memory, numpy.int64).reshape(-1, ENTRY_WORDS)

    def __del__(self) -> None:
        _C.free(self._header[_ENTRIES])


class LoggedProgram(NamedTuple):
    """A program that has a log. ``launch`` is a number, ``after`` those that were over when it began.

    Programs of one ``group`` are not compared; atomics of scope "gpu" order those of one ``device``.
    """

    name: str
    group: int
    checks: Sequence[Any]
    log: AccessLog
    launch: int = 0
    after: tuple[int, ...] = ()
    device: int = 0
