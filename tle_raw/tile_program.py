"""A whole kernel of tiles, in no dialect's words: what adapters read and targets of their own compile.

A program is launched as a grid of blocks. Each copies boxes of arrays into buffers of its own, computes on those, and
copies boxes back. Shapes are constants. Everything is a value, and every name is unique in its program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from tle_raw.errors import SourceLocation


@dataclass(frozen=True)
class Number:
    """A constant; ``dtype`` in NumPy's words and ``bfloat16``."""

    value: int | float | bool
    dtype: str = "int32"

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Name:
    """A block index, the variable of a loop, or a scalar parameter."""

    name: str
    dtype: str = "int32"

    def __str__(self) -> str:
        return self.name


_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "floormod": "%",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "and": "and",
    "or": "or",
}


@dataclass(frozen=True)
class Apply:
    """A function of expressions: ``add``, ``select``, ``cast``, ``exp2``, …; a target may put leaves of its own in."""

    function: str
    arguments: tuple[Any, ...]
    dtype: str

    def __str__(self) -> str:
        words = [str(a) for a in self.arguments]
        if self.function in _SIGNS and len(words) == 2:
            return f"({words[0]} {_SIGNS[self.function]} {words[1]})"
        name = self.dtype if self.function == "cast" else self.function
        return f"{name}({', '.join(words)})"


@dataclass(frozen=True)
class Load:
    """An element of an array or a buffer."""

    buffer: str
    indices: tuple[Expression, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.buffer}[{', '.join(map(str, self.indices))}]"


Expression = Number | Name | Apply | Load


@dataclass(frozen=True)
class Box:
    """A part of an array or a buffer: where it starts and how far it goes along each dim."""

    buffer: str
    origin: tuple[Expression, ...]
    extents: tuple[int, ...]

    def __str__(self) -> str:
        dims = [f"{o}:+{e}" for o, e in zip(self.origin, self.extents)]
        return f"{self.buffer}[{', '.join(dims)}]"


@dataclass(frozen=True)
class Copy:
    """Elements of one box into another of the same extents, those of 1 aside. What lies beyond an array reads as zero,
    and is not written."""

    source: Box
    target: Box
    location: SourceLocation | None = None


@dataclass(frozen=True)
class Fill:
    """One value into a box."""

    target: Box
    value: Expression
    location: SourceLocation | None = None


@dataclass(frozen=True)
class Product:
    """``target += a @ b``, either turned; where ``clear`` holds it starts from zero."""

    a: Box
    b: Box
    target: Box
    turn_a: bool
    turn_b: bool
    clear: Expression
    location: SourceLocation | None = None


@dataclass(frozen=True)
class Reduction:
    """``sum``, ``max``, ``min``, ``abssum`` or ``absmax`` along ``dim`` of the source; without ``clear`` combined with
    what the target holds."""

    source: Box
    target: Box
    kind: str
    dim: int
    clear: bool
    location: SourceLocation | None = None


@dataclass(frozen=True)
class Store:
    """One element of a nest."""

    buffer: str
    indices: tuple[Expression, ...]
    value: Expression
    guards: tuple[Expression, ...] = ()
    location: SourceLocation | None = None


@dataclass(frozen=True)
class Nest:
    """Stores for all values of some variables, in no order: ``variables`` are names and extents."""

    variables: tuple[tuple[str, int], ...]
    stores: tuple[Store, ...]
    location: SourceLocation | None = None


@dataclass(frozen=True)
class Loop:
    """One after the other, for ``start`` up to ``stop``; ``stages`` of a pipelined loop, else 0."""

    variable: str
    start: Expression
    stop: Expression
    body: tuple[Any, ...]
    stages: int = 0
    location: SourceLocation | None = None


@dataclass(frozen=True)
class Branch:
    """On a condition that is one for the whole block."""

    condition: Expression
    then: tuple[Any, ...]
    otherwise: tuple[Any, ...] = ()
    location: SourceLocation | None = None


Statement = Copy | Fill | Product | Reduction | Nest | Loop | Branch


@dataclass(frozen=True)
class Array:
    """Memory with a constant shape: a parameter, or a buffer of a block's own."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class TileProgram:
    """A kernel.

    Attributes
    ----------
    parameters : the names of arrays and scalars in the user's order.
    arrays, buffers : by name; ``scalars`` the dtypes of the scalar parameters.
    grid : the block indices' names and extents, x, y, z.
    location : where the user wrote it.
    """

    name: str
    parameters: tuple[str, ...]
    arrays: Mapping[str, Array]
    scalars: Mapping[str, str]
    grid: tuple[tuple[str, int], ...]
    buffers: Mapping[str, Array]
    body: tuple[Statement, ...]
    location: SourceLocation | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class ReadsTilePrograms(Protocol):
    """An adapter whose dialect writes whole kernels of tiles."""

    def tile_program(self, source: object, arguments: Mapping[str, Any]) -> TileProgram:
        """Read one; ``arguments`` are for functions that build it.

        Raises
        ------
        UnsupportedFeatureError : an operation that tile programs do not have; at the user's line.
        """


@runtime_checkable
class CompilesTilePrograms(Protocol):
    """A target that compiles whole kernels of tiles, without Triton."""

    def compile_program(self, program: TileProgram, options: Mapping[str, Any]) -> Any:
        """What it makes of one; the options are the target's own."""
