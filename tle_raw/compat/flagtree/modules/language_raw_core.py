"""``triton.experimental.tle.language.raw.core``: where FlagTree's own files import the calls from."""

from tle_raw.frontends.raw.call import call, call_smem

__all__ = ["call", "call_smem"]
