"""Arrays that PTX keeps in local memory, a thread's share of the GPU's own memory: their bytes, and who uses them.

A register has no index. An array becomes registers only where every index is known when the code is made: where the
loops over it are unrolled whole, and no data give one.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from tle_raw.linker.ptx.read import DebugLocation, Ptx

_FRAME = re.compile(r"^\s*\.local \.align \d+ \.b8\s+__local_depot\d+\[(\d+)\];", re.MULTILINE)


@dataclass(frozen=True)
class LocalArrays:
    """``size`` in bytes, of all functions; ``places`` are the source lines that use them, the most frequent first."""

    size: int
    places: tuple[DebugLocation, ...]


def local_arrays(text: str, ptx: Ptx) -> LocalArrays:
    """Those of a module, which ``ptx`` has read already."""
    size = sum(map(int, _FRAME.findall(text)))
    if not size:
        return LocalArrays(0, ())
    accesses = (i for i in ptx.instructions if ".local" in i.opcode and i.places)
    lines = Counter(DebugLocation(i.places[0].file, i.places[0].line) for i in accesses)
    return LocalArrays(size, tuple(place for place, _ in lines.most_common()))
