"""``triton.experimental.tle.raw.mlir``: what device code in Python may call."""

from tle_raw.adapters.mlir.edsl.language import vassert, vprintf

__all__ = ["vassert", "vprintf"]
