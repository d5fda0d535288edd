"""Pointers into other devices' memory, as kernels under ``knobs.debug`` tell of them on the CPU."""

# Where a pointer leads that `tle.remote` was given and that lies outside of the context's memory: no array lies there,
# nor at any distance between two regions from there.
OUTSIDE = 1 << 62


def is_outside(address: int) -> bool:
    """Whether an address came of such a pointer."""
    return address > OUTSIDE >> 1
