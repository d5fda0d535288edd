"""``triton.experimental.tle``: its modules, and the functions of TLE-Lite by their own names."""

from typing import Any

from tle_raw.compat.flagtree.modules import language, raw

__all__ = ["language", "raw"]


def __getattr__(name: str) -> Any:
    """Those of ``tle.language``."""
    return getattr(language, name)
