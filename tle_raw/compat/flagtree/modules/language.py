"""``triton.experimental.tle.language``: TLE-Lite, the distributed part, and ``dsa``, ``gpu`` and ``raw``."""

from __future__ import annotations

from typing import Any

from tle_raw import language
from tle_raw.compat.flagtree.modules import language_distributed as distributed
from tle_raw.compat.flagtree.modules import language_dsa as dsa
from tle_raw.compat.flagtree.modules import language_gpu as gpu
from tle_raw.compat.flagtree.modules import language_raw as raw
from tle_raw.compat.flagtree.not_here import look_up
from tle_raw.compat.flagtree.pipes import pipe
from tle_raw.language import cumsum, extract_tile, insert_tile, load, pipeline_group

globals().update({name: getattr(distributed, name) for name in distributed.__all__})

__all__ = ["cumsum", "dsa", "extract_tile", "gpu", "insert_tile", "load", "pipe", "pipeline_group", "range", "raw"]
__all__ += ["distributed", *distributed.__all__]


def __getattr__(name: str) -> Any:
    """``tle.range``: see ``tle_raw.language``. What is not in this release is refused by name."""
    if name == "range":
        return language.range
    return look_up("tle", name)
