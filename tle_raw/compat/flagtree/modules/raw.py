"""``triton.experimental.tle.raw``: how a fragment is declared."""

from tle_raw.compat.flagtree.declare import dialect
from tle_raw.fragments.signature import InOut, Input

__all__ = ["InOut", "Input", "dialect"]
