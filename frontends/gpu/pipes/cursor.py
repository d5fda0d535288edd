"""Which slot a step is about: ``iter % capacity``, and how often the ring was gone round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, PipeError, Row
from tle_raw.frontends.gpu.gluon_builder import identity
from tle_raw.frontends.lite.arguments import describe_value, is_integer, is_scalar_integer, plain


@dataclass(frozen=True)
class pipe_cursor_type(core.base_type):  # type: ignore[misc]
    """The type of a cursor through so many slots."""

    capacity: int

    def mangle(self) -> str:
        return f"C{self.capacity}C"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        out += [core.int32.to_ir(builder), core.int32.to_ir(builder)]

    def _unflatten_ir(self, handles: Any, cursor: int) -> tuple[Any, int]:
        stage, phase = (core.tensor(handle, core.int32) for handle in handles[cursor : cursor + 2])
        return pipe_cursor(stage, phase, self), cursor + 2


class pipe_cursor(core.base_value):  # type: ignore[misc]
    """A place in a pipe that moves on without a division.

    Attributes
    ----------
    stage : the number of the slot, a scalar of int32.
    phase : 0 and 1 in turn, each time that the ring is gone round.
    """

    def __init__(self, stage: core.tensor, phase: core.tensor, type: pipe_cursor_type) -> None:
        self.stage, self.phase, self.type = stage, phase, type

    def _flatten_ir(self, handles: list[Any]) -> None:
        handles += [self.stage.handle, self.phase.handle]

    def _set_name(self, builder: Any, name: str) -> None:
        for part in (self.stage, self.phase):
            part._set_name(builder, name)


@dataclass(frozen=True)
class Place:
    """A slot's number, the parity of its round, each a constant or a scalar, and what tells it from others."""

    stage: Any
    phase: Any
    iteration: Any


def place_of(function: str, capacity: int, value: Any, semantic: Any, generator: Any) -> Place:
    """Of an iteration, or a cursor.

    Raises
    ------
    ArgumentTypeError : it is neither.
    """
    value = plain(value)
    if isinstance(value, pipe_cursor):
        if value.type.capacity != capacity:
            raise PipeError(
                f"tle.pipe.{function}: the cursor is one of another pipe",
                table=[Row("slots", str(capacity), str(value.type.capacity))],
            )
        return Place(value.stage, value.phase, ("cursor", _key(value.stage, generator), _key(value.phase, generator)))
    if is_integer(value) and value >= 0:
        return Place(value % capacity, value // capacity & 1, value)
    if not is_scalar_integer(value):
        raise ArgumentTypeError(
            f"tle.pipe.{function}: which slot, by the number of the iteration",
            table=[Row("iter", "0 or more, a scalar of integers, or a cursor", describe_value(value))],
        )
    key = _key(value, generator)
    wide = core.uint64 if value.dtype.primitive_bitwidth > 32 else core.uint32
    count = semantic.cast(value, wide)  # counted from 0: without its sign a division by a power of two is a shift
    if capacity == 1:
        return Place(0, semantic.and_(semantic.cast(count, core.int32), semantic.to_tensor(1)), key)
    stage = semantic.cast(semantic.mod(count, _number(capacity, wide, semantic)), core.int32)
    times = semantic.cast(semantic.floordiv(count, _number(capacity, wide, semantic)), core.int32)
    return Place(stage, semantic.and_(times, semantic.to_tensor(1)), key)


def made_cursor(capacity: int, place: Place, semantic: Any) -> pipe_cursor:
    """A cursor that stands at a place."""
    stage, phase = (semantic.cast(semantic.to_tensor(part), core.int32) for part in (place.stage, place.phase))
    return pipe_cursor(stage, phase, pipe_cursor_type(capacity))


def advance(cursor: pipe_cursor, _semantic: Any = None, _generator: Any = None) -> pipe_cursor:
    """The cursor of the next slot."""
    capacity = cursor.type.capacity
    following = _semantic.add(cursor.stage, _semantic.to_tensor(1), False)
    is_over = _semantic.equal(following, _semantic.to_tensor(capacity))
    stage = _semantic.where(is_over, _semantic.to_tensor(0), following)
    phase = _semantic.xor_(cursor.phase, _semantic.cast(is_over, core.int32))
    return pipe_cursor(stage, phase, cursor.type)


def _number(value: int, dtype: Any, semantic: Any) -> Any:
    return semantic.full((), value, dtype)


def _key(value: core.tensor, generator: Any) -> Any:
    """The same for each use of one value; in the interpreter the number."""
    return int(value.handle.data.item()) if generator is None else ("value", identity(value.handle))
