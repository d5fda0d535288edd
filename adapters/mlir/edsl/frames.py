"""What is known while one function is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tle_raw.adapters.mlir.edsl.merging import Edge, Environment
from tle_raw.adapters.mlir.edsl.source import Code


@dataclass(eq=False)
class Loop:
    """The loop around a statement: the paths that leave it and those that start its next round."""

    breaks: list[Edge] = field(default_factory=list)
    continues: list[Edge] = field(default_factory=list)


@dataclass(eq=False)
class Frame:
    """One function being read. ``region`` is where its blocks go when it jumps."""

    code: Code
    environment: Environment
    constants: dict[str, Any] = field(default_factory=dict)
    fixed: frozenset[str] = frozenset()  # names that stand for tiles
    region: Any = None
    returns: list[Edge] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    alive: bool = True
    # What a return gives: the value, checked; of an elementwise function the parameter that it updates.
    returned: Callable[[Any], Any] = lambda value: value
