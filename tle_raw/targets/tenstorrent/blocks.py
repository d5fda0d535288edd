"""Operations on whole blocks, of which a module's body is until stage C makes operations on tiles of them.

The buffers of a block are ``Local``. Integer expressions are those of ``tle_raw.tile_program``; in an expression of
elements a ``Part`` reads a buffer, and the names ``%0`` and ``%1`` are the row and the column of the element.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from tle_raw.errors import SourceLocation
from tle_raw.tile_program import Apply, Expression, Name

ROW, COLUMN = "%0", "%1"
TILE = 32


@dataclass(frozen=True)
class Local:
    """A buffer of a block, dims of 1 left out: a matrix, a vector or one element.

    ``form`` says how tiles hold a vector: ``column`` (the first column), ``row`` (the first row); "" until it is known.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    form: str = ""

    @property
    def rows(self) -> int:
        """In elements."""
        if len(self.shape) == 2:
            return self.shape[0]
        return self.shape[0] if self.shape and self.form == "column" else 1

    @property
    def columns(self) -> int:
        if len(self.shape) == 2:
            return self.shape[1]
        return self.shape[0] if self.shape and self.form != "column" else 1

    @property
    def tile_rows(self) -> int:
        return -(-self.rows // TILE)

    @property
    def tile_columns(self) -> int:
        return -(-self.columns // TILE)

    @property
    def tiles(self) -> int:
        return self.tile_rows * self.tile_columns


@dataclass(frozen=True)
class Part:
    """A buffer in an expression: its dim ``d`` follows the axis ``axes[d]`` of the result; other axes it repeats along.

    ``whole``: the tiles of a vector, or the one tile, are full (a mask, a constant), and nothing is spread within them.
    """

    local: str
    axes: tuple[int, ...]
    dtype: str
    whole: bool = False

    def __str__(self) -> str:
        return f"{self.local}[{', '.join(f'%{axis}' for axis in self.axes)}]"


@dataclass(frozen=True)
class ReadBlock:
    """A box of a tensor into a buffer: ``dims`` are the tensor's dims that the buffer has, in its order."""

    target: str
    tensor: str
    origin: tuple[Expression, ...]
    dims: tuple[int, ...]
    location: SourceLocation | None = None
    node: int = -1


@dataclass(frozen=True)
class WriteBlock:
    """A buffer into a box of a tensor."""

    source: str
    tensor: str
    origin: tuple[Expression, ...]
    dims: tuple[int, ...]
    location: SourceLocation | None = None
    node: int = -1


@dataclass(frozen=True)
class Choose:
    """Elements that follow from their place alone: ``yes`` where the condition holds, ``no`` elsewhere."""

    target: str
    condition: Any
    yes: float
    no: float
    location: SourceLocation | None = None
    node: int = -1


@dataclass(frozen=True)
class Scaler:
    """The tile of ones that reductions multiply by."""

    target: str
    location: SourceLocation | None = None
    node: int = -1


@dataclass(frozen=True)
class Each:
    """``target = value``, element by element; without parts a constant."""

    target: str
    value: Any
    location: SourceLocation | None = None
    node: int = -1


@dataclass(frozen=True)
class Multiply:
    """``target += a @ b``, or ``target = a @ b`` where it is ``fresh``; ``turn_b``: b is held turned."""

    target: str
    a: str
    b: str
    turn_b: bool = False
    fresh: bool = False
    location: SourceLocation | None = None
    node: int = -1


@dataclass(frozen=True)
class Reduce:
    """``sum`` or ``max`` along an axis of the source, 0 or 1; None: of a vector along its only one."""

    target: str
    source: str
    kind: str
    axis: int | None
    scaler: str = ""
    location: SourceLocation | None = None
    node: int = -1


@dataclass(frozen=True)
class Turn:
    """The transposed matrix."""

    target: str
    source: str
    location: SourceLocation | None = None
    node: int = -1


@dataclass(frozen=True)
class Repeat:
    """A loop of blocks' operations."""

    name: str
    start: Expression
    stop: Expression
    body: tuple[Any, ...]
    location: SourceLocation | None = None


@dataclass(frozen=True)
class Choice:
    """A branch on integers."""

    condition: Expression
    then: tuple[Any, ...]
    otherwise: tuple[Any, ...] = ()
    location: SourceLocation | None = None


@dataclass(frozen=True)
class Known:
    """A name for an integer expression."""

    name: str
    value: Expression


BY_READER = (ReadBlock, Choose, Scaler)


def defined(statement: Any) -> str | None:
    """The buffer that an operation gives a value."""
    return getattr(statement, "target", None)


def used(statement: Any) -> tuple[str, ...]:
    """The buffers that an operation reads, each once, in order."""
    if isinstance(statement, Each):
        found = [part.local for part in parts(statement.value)]
    elif isinstance(statement, Multiply):
        found = [statement.a, statement.b, *([] if statement.fresh else [statement.target])]
    elif isinstance(statement, Reduce):
        found = [statement.source, *([statement.scaler] if statement.scaler else [])]
    elif isinstance(statement, (Turn, WriteBlock)):
        found = [statement.source]
    else:
        found = list(getattr(statement, "uses", ()))
    return tuple(dict.fromkeys(found))


def parts(expression: Any) -> Iterator[Part]:
    """The buffers' parts in an expression."""
    if isinstance(expression, Part):
        yield expression
    for argument in getattr(expression, "arguments", ()):
        yield from parts(argument)


def names_in(expression: Any) -> set[str]:
    """The names that an expression of integers reads."""
    if isinstance(expression, Name):
        return {expression.name}
    inner = [*getattr(expression, "arguments", ()), *getattr(expression, "indices", ())]
    return set().union(*(names_in(argument) for argument in inner)) if inner else set()


def map_expression(expression: Any, change: Any) -> Any:
    """An expression with ``change`` done to each of its nodes, the inner ones first."""
    if isinstance(expression, Apply):
        arguments = tuple(map_expression(argument, change) for argument in expression.arguments)
        return change(replace(expression, arguments=arguments))
    return change(expression)


def renamed(statement: Any, names: Mapping[str, str], *, targets: bool = True, sources: bool = True) -> Any:
    """An operation whose buffers have other names."""
    changes: dict[str, Any] = {}
    for field in fields(statement) if is_dataclass(statement) else ():
        value = getattr(statement, field.name)
        if field.name == "target" and targets:
            changes["target"] = names.get(value, value)
        elif field.name in ("source", "a", "b", "scaler") and sources and isinstance(value, str):
            changes[field.name] = names.get(value, value)
        elif field.name == "value" and isinstance(statement, Each) and sources:
            changes["value"] = map_expression(
                value, lambda e: replace(e, local=names.get(e.local, e.local)) if isinstance(e, Part) else e
            )
    return replace(statement, **changes) if changes else statement


__all__ = [
    *("Apply", "BY_READER", "COLUMN", "Choice", "Choose", "Each", "Expression", "Known", "Load", "Local", "Multiply"),
    *("Name", "Number", "Part", "ROW", "ReadBlock", "Reduce", "Repeat", "Scaler", "TILE", "Turn", "WriteBlock"),
    *("defined", "map_expression", "names_in", "parts", "renamed", "used"),
]
