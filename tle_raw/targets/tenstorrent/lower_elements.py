"""An expression of elements as steps on registers, the one that needs more registers first."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import Row, UnsupportedFeatureError
from tle_raw.targets.tenstorrent import operations
from tle_raw.targets.tenstorrent.blocks import Local, Part, parts
from tle_raw.targets.tenstorrent.dtypes import FORMATS, WIDE
from tle_raw.targets.tenstorrent.forward import registers_of
from tle_raw.targets.tenstorrent.integers import plus, times
from tle_raw.targets.tenstorrent.ir import Buffer, Call, Expr, Int, Module, Var, Word
from tle_raw.targets.tenstorrent.padding import ZEROS
from tle_raw.targets.tenstorrent.tiles import TILE_COLUMN, TILE_ROW, Register, Step
from tle_raw.tile_program import Apply, Name, Number

_ROW, _COLUMN = Var(TILE_ROW), Var(TILE_COLUMN)
_FPU = ("add", "sub", "mul")
_EITHER_WAY = ("add", "mul", "max", "min")


def copy_step(module: Module, local: Local, place: Expr, register: Register) -> Step:
    """A tile from its buffer into a register."""
    init = Call("copy_init", (Buffer(local.name),))
    return Step("copy_tile", (Buffer(local.name), place, register), (), init, "matrix", (), (local.name,))


def is_wide(module: Module) -> bool:
    """Whether registers hold 32 bits an element."""
    return bool(module.attributes["tt.dst_bits"] == 32)


class Elements:
    """Lowers the expression of one target; ``most`` is how many registers it took.

    ``held`` is a buffer whose tile register 0 has from the start; ``stayed`` says whether that was where it was needed.
    """

    def __init__(self, module: Module, target: Local, held: str = "") -> None:
        self.module, self.target, self.held = module, target, held
        self.most, self.stayed = 1, True
        self._steps: list[Step] = []

    def steps(self, value: Any) -> list[Step]:
        """The steps after which register 0 holds the value.

        Raises
        ------
        UnsupportedFeatureError : a function that the card does not have, or more registers than there are.
        """
        self._evaluate(value, 0)
        limit = 4 if is_wide(self.module) else 8
        if self.most > limit:
            raise UnsupportedFeatureError(
                "the expression keeps more intermediate values than DST holds tiles",
                table=[Row("tiles", f"at most {limit}", str(self.most))],
                hint="split it, with a fragment between",
            )
        return self._steps

    def _evaluate(self, value: Any, number: int) -> None:
        """Into the register of that number; those below it are taken."""
        self.most = max(self.most, number + 1)
        place = Register(number)
        if isinstance(value, Part) and value.local == self.held:
            self.stayed &= number == 0
        elif isinstance(value, Part):
            self._steps.append(self._load(value, place))
        elif isinstance(value, (Number, Name)):
            self._steps.extend(operations.fill(place, value, value.dtype))
        elif value.function == "cast":
            self._cast(value, number)
        elif value.function == "select":
            self._select(value, number)
        elif len(value.arguments) == 1:
            self._evaluate(value.arguments[0], number)
            self._steps.extend(operations.unary(value.function, place, value.arguments[0].dtype))
        else:
            self._two(value, number)

    def _two(self, value: Apply, number: int) -> None:
        a, b = value.arguments
        if value.function in _EITHER_WAY and self._holds(b):
            value = Apply(value.function, (b, a), value.dtype)
            a, b = b, a
        place, dtype = Register(number), a.dtype
        fused = self._fused(value, place)
        if fused is not None:
            self._steps.append(fused)
            return
        for scalar, other, first in ((b, a, False), (a, b, True)):
            if isinstance(scalar, (Number, Name)) and not isinstance(other, (Number, Name)):
                steps = operations.with_scalar(value.function, place, scalar, dtype, scalar_first=first)
                if steps is not None:
                    self._evaluate(other, number)
                    self._steps.extend(steps)
                    return
        if registers_of(b) > registers_of(a):
            self._evaluate(b, number)
            self._evaluate(a, number + 1)
            step = operations.binary(value.function, Register(number + 1), place, dtype)
            into = (*step.arguments[:2], place)
            self._steps.append(Step(step.operation, into, step.template, step.init))
            return
        self._evaluate(a, number)
        self._evaluate(b, number + 1)
        self._steps.append(operations.binary(value.function, place, Register(number + 1), dtype))

    def _holds(self, value: Any) -> bool:
        return bool(self.held) and any(part.local == self.held for part in parts(value))

    def _select(self, value: Apply, number: int) -> None:
        for offset, argument in enumerate(value.arguments):
            self._evaluate(argument, number + offset)
        registers = [Register(number + offset) for offset in range(3)]
        self._steps.append(operations.select(*registers, wide=is_wide(self.module)))

    def _cast(self, value: Apply, number: int) -> None:
        inner = value.arguments[0]
        self._evaluate(inner, number)
        self._steps.append(operations.convert(Register(number), FORMATS[inner.dtype], FORMATS[value.dtype]))

    def place_of(self, part: Part) -> tuple[Expr, str]:
        """The tile of a buffer that goes with the target's, and how it spreads: "", ``COL``, ``ROW``, ``SCALAR``."""
        local, target = self.module.locals[part.local], self.target
        if len(local.shape) == 2:
            return plus(times(_ROW, local.tile_columns), _COLUMN), ""
        if len(local.shape) == 0:
            return Int(0), "SCALAR" if len(target.shape) and not part.whole else ""
        spreads = len(target.shape) == 2 and not part.whole
        if local.form == "column":
            return _ROW, "COL" if spreads else ""
        return _COLUMN, "ROW" if spreads else ""

    def _load(self, part: Part, register: Register) -> Step:
        local = self.module.locals[part.local]
        place, spread = self.place_of(part)
        if not spread:
            return copy_step(self.module, local, place, register)
        template = (Word(f"BroadcastType::{spread}"),)
        init = Call("unary_bcast_init", (Buffer(local.name),), template)
        undo = (Call("unary_bcast_uninit", (Buffer(local.name),), template),)
        arguments = (Buffer(local.name), place, register)
        return Step("unary_bcast", arguments, template, init, "matrix", (), (local.name,), undo=undo)

    def _fused(self, value: Apply, register: Register) -> Step | None:
        """Two buffers' tiles summed or multiplied as they arrive, where 19 bits are enough for both."""
        a, b = value.arguments
        if value.function not in _FPU or not (isinstance(a, Part) and isinstance(b, Part)) or self._holds(value):
            return None
        formats = {self.module.circular_buffers[part.local].data_format for part in (a, b)}
        by_zeros = any(part.local.startswith(ZEROS) for part in (a, b))
        if len(formats) > 1 or (formats & set(WIDE) and not by_zeros):
            return None
        if self.place_of(a)[1] and value.function != "sub":
            a, b = b, a
        (place_a, spread_a), (place_b, spread_b) = self.place_of(a), self.place_of(b)
        if spread_a:
            return None
        names = (Buffer(a.local), Buffer(b.local))
        words = {"": "", "COL": "_bcast_cols", "ROW": "_bcast_rows", "SCALAR": "_bcast_scalar"}[spread_b]
        init = Call(f"{value.function}{words}_init", names)
        return Step(
            *(f"{value.function}_tiles{words}", (*names, place_a, place_b, register), (), init, "matrix", ()),
            tuple(dict.fromkeys((a.local, b.local))),
        )
