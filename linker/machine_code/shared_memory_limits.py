"""How much shared memory one block may have, in bytes.

From the CUDA C++ Programming Guide, table of compute capabilities: "Maximum amount of shared memory per thread block".
"""

from __future__ import annotations

# By the compute capability, without its point.
LIMITS = {70: 98304, 75: 65536, 80: 166912, 86: 101376, 87: 166912, 89: 101376, 90: 232448}
LIMITS |= {100: 232448, 101: 232448, 103: 232448, 110: 232448, 120: 101376, 121: 101376}
# What every block may have; more is a kernel's own wish ("opt-in"), and must be dynamic.
WITHOUT_ASKING = 49152
