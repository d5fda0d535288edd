"""A kernel of some size, and what NumPy makes of the same arrays in float64."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """A kernel of some size: its PrimFunc, shapes and dtypes of its inputs, and the reference."""

    name: str
    size: str
    dtype: str
    prim_func: Any
    inputs: dict[str, tuple[tuple[int, ...], str]]
    reference: Callable[..., Any]
    low: float = -1.0
    options: Any = None

    def __str__(self) -> str:
        return f"{self.name}-{self.size}-{self.dtype}"
