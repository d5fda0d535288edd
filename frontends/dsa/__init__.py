"""TLE-Struct for domain-specific accelerators, ``tle.dsa``: local memories, moves between them, arithmetic in them."""
