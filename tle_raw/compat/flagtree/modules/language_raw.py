"""``triton.experimental.tle.language.raw``: how a kernel calls a fragment."""

from tle_raw.frontends.raw.call import call, call_smem

__all__ = ["call", "call_smem"]
