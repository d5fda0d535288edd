"""The memories of an Ascend core, and between which of them data can be moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tle_raw.errors import ArgumentTypeError, LocalMemoryError, Row
from tle_raw.frontends.lite.arguments import describe_value, plain

GM = "GM"  # global memory: what kernels' pointers point into


@dataclass(frozen=True)
class Space:
    """A local memory of a core, ``tle.dsa.ascend.UB`` for one."""

    name: str
    holds: str

    def __repr__(self) -> str:
        return f"tle.dsa.ascend.{self.name}"


UB = Space("UB", "what the vector units read and write")
L1 = Space("L1", "tiles on their way to the matrix unit")
L0A = Space("L0A", "left operands of the matrix unit")
L0B = Space("L0B", "right operands of the matrix unit")
L0C = Space("L0C", "results of the matrix unit")
SPACES = (UB, L1, L0A, L0B, L0C)
# Within UB the vector units copy.
MOVES = frozenset({(GM, "UB"), ("UB", GM), ("UB", "UB"), (GM, "L1"), ("L1", "L0A"), ("L1", "L0B"), ("L0C", GM)})


def check_space(function: str, name: str, value: Any) -> Space:
    """One of the memories.

    Raises
    ------
    ArgumentTypeError : it is none.
    """
    value = plain(value)
    if not isinstance(value, Space):
        raise ArgumentTypeError(
            f"tle.dsa.{function}: unknown memory space",
            table=[Row(name, f"tle.dsa.ascend.{', '.join(space.name for space in SPACES)}", describe_value(value))],
        )
    return value


def check_move(source: str, target: str, names: str) -> None:
    """The hardware has a path between the two.

    Raises
    ------
    LocalMemoryError : it has none.
    """
    if (source, target) in MOVES:
        return
    ways = sorted(f"{a} -> {b}" for a, b in MOVES if a == source) or ["none"]
    raise LocalMemoryError(
        f"tle.dsa.copy: no path leads from {source} to {target}",
        table=[Row(names, " or ".join(ways), f"{source} -> {target}")],
        hint=_way_round(source, target),
    )


def _way_round(source: str, target: str) -> str:
    if target in ("L0A", "L0B") and source == GM:
        return f"copy into L1 first, and from there into {target}"
    if target == "L0C":
        return "L0C gets products: tle.dsa.to_buffer(tl.dot(a, b), tle.dsa.ascend.L0C)"
    return "by way of global memory" if source in ("UB", "L0C") else ""
