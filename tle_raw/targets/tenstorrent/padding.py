"""What stands in the padding of tiles, masks where it would be seen, and other tiles that the reader writes once.

Tiles of a block of 100 columns hold 128: a sum over them must see zeros there, a maximum minus infinity, a product
zeros. What was read from memory, and what was filled with zeros, holds zeros; after any function nothing is known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tle_raw.errors import UnsupportedFeatureError
from tle_raw.targets.tenstorrent.blocks import (
    COLUMN,
    ROW,
    TILE,
    Choose,
    Each,
    Local,
    Multiply,
    Part,
    ReadBlock,
    Reduce,
    Scaler,
    Turn,
    defined,
    map_expression,
    names_in,
)
from tle_raw.targets.tenstorrent.dtypes import FORMATS
from tle_raw.targets.tenstorrent.ir import Module, walk
from tle_raw.targets.tenstorrent.webs import rewritten
from tle_raw.tile_program import Apply, Name, Number

ZEROS = "zeros"


class Padding:
    """Puts masks before reductions and products, and brings the constants that those need.

    ``constants`` are operations that stand before the loop over blocks. Without ``spreads`` a release cannot repeat a
    row or a column of one buffer alone: it is added to a tile of zeros, which every release can.
    """

    def __init__(self, module: Module, spreads: bool = True) -> None:
        self.module, self.spreads = module, spreads
        self.locals: dict[str, Local] = dict(module.locals)
        self.constants: list[Any] = []
        self._known: dict[Any, str] = {}
        self._products = {s.target for s in walk(module.body) if isinstance(s, Multiply)}

    def run(self) -> tuple[Any, ...]:
        """The body, with masks."""
        return rewritten(self.module.body, self._one)

    def _one(self, statement: Any) -> tuple[Any, ...]:
        if isinstance(statement, Reduce):
            return self._reduce(statement)
        if isinstance(statement, Multiply):
            return self._multiply(statement)
        if isinstance(statement, Choose) and self._is_constant(statement):
            self.constants.append(statement)
            return ()
        if isinstance(statement, Each) and not self.spreads:
            statement = replace(statement, value=self._added_to_zeros(statement))
        if isinstance(statement, Each) and isinstance(statement.value, Number) and statement.target in self._products:
            return (replace(statement, value=self._constant(statement.value, self.locals[statement.target])),)
        return (statement,)

    def _added_to_zeros(self, each: Each) -> Any:
        dims = len(self.locals[each.target].shape)

        def change(value: Any) -> Any:
            if not isinstance(value, Part) or value.whole or len(value.axes) == dims or value.dtype == "int32":
                return value
            zeros = self._constant(Number(0.0, value.dtype), self.locals[value.local])
            return Apply("add", (zeros, value), value.dtype)

        return map_expression(each.value, change)

    def _is_constant(self, choose: Choose) -> bool:
        """Whether it is the same for all blocks, so that once is enough."""
        once = sum(defined(s) == choose.target for s in walk(self.module.body)) == 1
        return once and names_in(choose.condition) <= {ROW, COLUMN}

    def _constant(self, value: Number, like: Local) -> Part:
        """A tile that the reader wrote, so that a product needs the matrix unit alone."""
        key = ("constant", value.value, like.dtype)
        if key not in self._known:
            name = self._known[key] = self._fresh(ZEROS if value.value == 0 else "constant", Local("", (), like.dtype))
            never = Apply("lt", (Number(TILE), Name(ROW)), "bool")
            self.constants.append(Choose(name, never, 0.0, float(value.value)))
        return Part(self._known[key], (), like.dtype, whole=True)

    def _reduce(self, reduce: Reduce) -> tuple[Any, ...]:
        source = self.locals[reduce.source]
        if source.dtype == "int32":
            raise UnsupportedFeatureError(
                f"a reduction of int32, of `{source.name}`", hint="the matrix unit reduces floats: copy it into float32"
            ).at(source=reduce.location)
        along = reduce.axis if reduce.axis is not None else (0 if source.form == "column" else 1)
        neutral = float("-inf") if reduce.kind == "max" else 0.0
        before, name = self._masked(source, along, neutral, reduce.location)
        scaler = self._scaler(source)
        return (*before, replace(reduce, source=name, scaler=scaler))

    def _multiply(self, multiply: Multiply) -> tuple[Any, ...]:
        a, b = self.locals[multiply.a], self.locals[multiply.b]
        if "int32" in (a.dtype, b.dtype):
            raise UnsupportedFeatureError("T.gemm of int32", hint="the matrix unit multiplies floats").at(
                source=multiply.location
            )
        first, name_a = self._masked(a, 1, 0.0, multiply.location)
        second, name_b = self._masked(b, 1 if multiply.turn_b else 0, 0.0, multiply.location)
        return (*first, *second, replace(multiply, a=name_a, b=name_b))

    def _masked(self, source: Local, axis: int, neutral: float, location: Any) -> tuple[tuple[Any, ...], str]:
        """The buffer, or a copy of it with ``neutral`` behind its end along an axis."""
        extent = source.columns if axis == 1 else source.rows
        if extent % TILE == 0 or (neutral == 0.0 and self._holds_zeros(source.name, axis, set())):
            return (), source.name
        # A vector lies in one row or one column of its tiles: along the other axis there is nothing to mask.
        mask = self._mask(extent, axis, source)
        axes = tuple(range(len(source.shape)))
        kept = Part(mask, (axis,), self.locals[mask].dtype, whole=True)
        value = Apply(
            "select", (kept, Part(source.name, axes, source.dtype), Number(neutral, source.dtype)), source.dtype
        )
        name = self._fresh(f"{source.name}_masked", source)
        return (Each(name, value, location),), name

    def _holds_zeros(self, name: str, axis: int, seen: set[str]) -> bool:
        """Whether the padding along an axis is known to be zero, by what gives the buffer its values."""
        if name in seen:
            return True
        seen = seen | {name}
        return all(self._gives_zeros(s, axis, seen) for s in walk(self.module.body) if defined(s) == name)

    def _gives_zeros(self, statement: Any, axis: int, seen: set[str]) -> bool:
        if isinstance(statement, ReadBlock):
            return True
        if isinstance(statement, Each):
            value = statement.value
            if isinstance(value, Number):
                return bool(value.value == 0)
            whole = isinstance(value, Part) and len(value.axes) == len(self.locals[statement.target].shape)
            return whole and self._holds_zeros(value.local, axis, seen)
        if isinstance(statement, Turn):
            return self._holds_zeros(statement.source, 1 - axis, seen)
        if isinstance(statement, Multiply):
            if axis == 0:
                return self._holds_zeros(statement.a, 0, seen)
            return self._holds_zeros(statement.b, 0 if statement.turn_b else 1, seen)
        return False

    def _mask(self, extent: int, axis: int, source: Local) -> str:
        dtype = source.dtype
        key = ("mask", extent, axis, dtype)
        if key not in self._known:
            shape = (-(-extent // TILE) * TILE,)
            local = Local("", shape, dtype, "row" if axis == 1 else "column")
            name = self._known[key] = self._fresh("padding_mask", local)
            condition = Apply("lt", (Name(COLUMN if axis == 1 else ROW), Number(extent)), "bool")
            self.constants.append(Choose(name, condition, 1.0, 0.0))
        return self._known[key]

    def _scaler(self, source: Local) -> str:
        """Ones in a format that goes with the source's."""
        key = ("scaler", FORMATS[source.dtype])
        if key not in self._known:
            self._known[key] = self._fresh("scaler", Local("", (), source.dtype))
            self.constants.append(Scaler(self._known[key]))
        return self._known[key]

    def _fresh(self, base: str, like: Local) -> str:
        number, name = 1, base
        while name in self.locals:
            number += 1
            name = f"{base}_{number}"
        self.locals[name] = replace(like, name=name)
        return name
