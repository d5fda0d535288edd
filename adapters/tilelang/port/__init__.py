"""``tle-raw port`` for TileLang: what a script holds, which routes it takes, and a Triton file that calls it.

``load_script`` and ``run_alone`` are what such files use themselves.
"""

from tle_raw.adapters.tilelang.port.load_script import load_script
from tle_raw.adapters.tilelang.port.run_alone import run_alone

__all__ = ["load_script", "run_alone"]
