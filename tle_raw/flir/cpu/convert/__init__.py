"""Triton IR -> the Linalg form (see ``tle_raw.flir.cpu``): one operation, one conversion.

Tiles are converted lazily: ``tiles`` says what a tile is, ``plan`` which of them are stored, ``kernel`` is the state of
one conversion, and the other files hold the conversions by kind.
"""

from tle_raw.flir.cpu.convert.convert import convert

__all__ = ["convert"]
