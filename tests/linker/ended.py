"""Whether a process is over, for tests of what is started and ended."""

from __future__ import annotations

import os
import time
from pathlib import Path


def is_over(pid: int) -> bool:
    """Gone, or dead and not yet waited for by whoever took it over."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False
