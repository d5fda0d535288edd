"""Hold the kernel's shared memory, its own and its fragments', against what one block may have."""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.compilation import CompiledFragment
from tle_raw.errors import Row, SharedMemoryError

# Most shared memory of one block, in bytes: CUDA C++ Programming Guide, compute capabilities table
# ("Maximum amount of shared memory per thread block").
LIMITS = {70: 98304, 75: 65536, 80: 166912, 86: 101376, 87: 166912, 89: 101376, 90: 232448}
LIMITS |= {100: 232448, 101: 232448, 103: 232448, 110: 232448, 120: 101376, 121: 101376}
# Triton's swizzled layouts for TMA and WGMMA need their buffers at multiples of 1024 bytes, counted from the block's
# shared memory. Static variables stand first, so the dynamic part must say so itself.
DYNAMIC_ALIGNMENT = 1024


def check_shared_memory(dynamic: int, fragments: Sequence[CompiledFragment], capability: int) -> None:
    """Raise what Triton alone cannot see: static shared memory is in none of its counts.

    Raises
    ------
    SharedMemoryError : with a row for Triton's part and one for each fragment's variable.
    """
    limit = LIMITS.get(capability)
    static = sum(size for f in {f.entry: f for f in fragments}.values() for _, size, _ in f.static_shared)
    if limit is None or not static or dynamic + static <= limit:
        return
    rows = [Row("total", f"at most {limit}", str(dynamic + static))]
    rows.append(Row("Triton (tiles, scratch)", str(dynamic), str(dynamic)))
    for fragment in {f.entry: f for f in fragments}.values():
        rows += [Row(f"{fragment.name}: {n}", str(b), str(b)) for n, b, _ in fragment.static_shared]
    raise SharedMemoryError(
        f"the kernel needs more shared memory than a block of sm_{capability} has, in bytes",
        table=rows,
        hint="make the tiles smaller, or num_stages",
    )
