"""How much the caches of this machine hold."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

# Where the machine does not tell: more than most have, so that nothing is taken for larger that is not.
UNKNOWN = 1 << 30
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@cache
def last_level_bytes(system: Path = Path("/sys/devices/system/cpu")) -> int:
    """Bytes of all caches of the last level, as Linux describes them."""
    levels: dict[int, dict[str, int]] = {}
    for index in system.glob("cpu[0-9]*/cache/index[0-9]*"):
        try:
            level, kind, size, shared = (
                (index / name).read_text().strip() for name in ("level", "type", "size", "shared_cpu_list")
            )
        except OSError:
            continue
        match = re.fullmatch(r"(\d+)([KMG]?)", size)
        if kind != "Instruction" and level.isdigit() and match:
            levels.setdefault(int(level), {})[shared] = int(match[1]) * _UNITS[match[2]]
    return sum(levels[max(levels)].values()) if levels else UNKNOWN
