"""What is spelled inside ``@triton.jit`` functions: ``import tle_raw.language as tle``.

This release has the raw calls. TLE-Lite and TLE-Struct will stand here under FlagTree's names.
"""

from tle_raw.frontends.raw.call import call, call_smem

__all__ = ["call", "call_smem"]
