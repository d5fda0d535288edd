"""``triton.experimental.tle``: its modules, and the functions of TLE-Lite by their own names."""

from typing import Any

from tle_raw.compat.flagtree.kernel_metadata import tell_dims_as_tuples
from tle_raw.compat.flagtree.modules import language, raw

__all__ = ["language", "raw"]

tell_dims_as_tuples()


def __getattr__(name: str) -> Any:
    """Those of ``tle.language``."""
    return getattr(language, name)
