"""Reads a fragment's function into a module: parameters in, the body's operations, the result out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.mlir.edsl.builder import Builder
from tle_raw.adapters.mlir.edsl.calls import Calls
from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.frames import Frame
from tle_raw.adapters.mlir.edsl.source import Code
from tle_raw.adapters.mlir.edsl.types import BarrierType, DescriptorType, Number, PointerType, TileType, Type, number
from tle_raw.adapters.mlir.edsl.values import EdslValue, Undefined, is_literal
from tle_raw.errors import Row
from tle_raw.fragments.bound import CONST, ELEMENT, POINTER, TILE, BoundParameter, BoundSignature
from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.parameter_types import READY_BARRIER, ROW_MAJOR
from tle_raw.target import Target


@dataclass(frozen=True)
class Built:
    """An MLIR module made from a function; ``route`` is "libtriton" or the name of the binding that made it."""

    text: str
    symbol: str
    route: str
    seconds: float = 0.0


class Reader(Calls):
    """Reads one function for one bound signature."""

    def __init__(
        self, builder: Builder, code: Code, bound: BoundSignature, target: Target, codes: Mapping[int, Code]
    ) -> None:
        super().__init__()
        self.emit = Emitter(builder, target)
        self.emit.code = code
        self.bound = bound
        self.code = code
        self._tiles: list[EdslValue] = []
        self._codes.update(codes)

    def read_function(self, symbol: str) -> None:
        """Append the function to the builder's module."""
        emit, builder, bound = self.emit, self.emit.builder, self.bound
        emit.node = self.code.tree
        crossing = [(p, _type(p)) for p in bound.crossing]
        region = builder.region()
        entry = emit.entry = builder.block(region, [t.mlir for _, t in crossing])
        values = {p.name: EdslValue(h, t) for (p, t), h in zip(crossing, builder.arguments(entry))}
        environment: dict[str, Any] = {
            name: Undefined(name, emit.location, "it is Out: nothing was passed") if self._is_output(name) else value
            for name, value in values.items()
        }
        constants: dict[str, Any] = {name: number(v) if isinstance(v, DType) else v for name, v in bound.names}
        constants |= {p.name: p.value for p in bound.parameters if p.kind == CONST}
        fixed = frozenset(p.name for p in bound.tiles)
        self._tiles = [values[p.name] for p in bound.tiles if p.effect != "In"]
        self.frame = Frame(self.code, environment, constants, fixed, region, returned=self._returned())
        self._inlining.append(self.code.function)
        with builder.inside(entry):
            self.run(self.code.body)
            result = self._result()
            emit.node = self.code.tree
            builder.create("llvm.return", [result.handle] if result else ())
        self._define(symbol, [t for _, t in crossing], result, region)

    def _is_output(self, name: str) -> bool:
        return any(p.name == name and p.kind == ELEMENT and p.effect == "Out" for p in self.bound.parameters)

    def _define(self, symbol: str, types: list[Type], result: EdslValue | None, region: Any) -> None:
        inputs = ", ".join(t.mlir.replace("!llvm.", "") for t in types)
        output = result.type.mlir if result else "void"
        attributes = {
            "sym_name": f'"{symbol}"',
            "function_type": f"!llvm.func<{output} ({inputs})>",
            "linkage": "#llvm.linkage<external>",
        }
        with self.emit.builder.at_top():
            self.emit.builder.create("llvm.func", (), (), attributes, (region,))

    # --- results -------------------------------------------------------------------------------------------------

    @property
    def _updated(self) -> BoundParameter | None:
        """The element that an elementwise function updates; its last value is the result."""
        found = [p for p in self.bound.parameters if p.kind == ELEMENT and p.effect != "In"]
        return found[0] if found else None

    def _returned(self) -> Callable[[Any], Any]:
        wanted = number(self.bound.result) if self.bound.result else None
        updated = self._updated

        def check(value: Any) -> Any:
            if wanted is not None:
                return self._typed(value, wanted)
            if value is not None and not self._are_tiles(value):
                self.emit.mismatch(
                    "the function returns a value, its signature says that it does not",
                    "None",
                    value,
                    "result",
                    'say so: -> Scalar["f32"]',
                )
            if updated is None:
                return None
            assert updated.dtype is not None
            entry = self.frame.environment[updated.name]
            if isinstance(entry, Undefined):
                self.emit.fail(f"nothing is assigned to `{updated.name}`", [Row(updated.name, "a value", "nothing")])
            return self._typed(entry, number(updated.dtype), updated.name)

        return check

    def _are_tiles(self, value: Any) -> bool:
        """Whether it is tiles that come back anyway: the signature says so."""
        items = value if isinstance(value, (tuple, list)) else [value]
        return all(any(item is tile for tile in self._tiles) for item in items)

    def _typed(self, value: Any, wanted: Number, what: str = "result") -> EdslValue:
        if value is None:
            self.emit.mismatch(
                "the function returns nothing", str(wanted), "None", what, "return a value on every path"
            )
        fits = is_literal(value) and not (isinstance(value, float) and not wanted.is_float)
        if fits and isinstance(value, bool) == wanted.is_bool:
            return self.emit.constant(float(value) if wanted.is_float else value, wanted)
        if not isinstance(value, EdslValue) or value.type is not wanted:
            self.emit.mismatch(
                f"the {'result' if what == 'result' else f'value of `{what}`'} has another type",
                str(wanted),
                value,
                what,
                f"convert it: {wanted}(…)",
            )
        return value

    def _result(self) -> EdslValue | None:
        if not self.frame.returns and self.bound.result is not None and self.frame.alive:
            self.emit.node = self.code.tree
            self.emit.mismatch(
                "the function returns nothing", str(self.bound.result), "None", "result", "return a value on every path"
            )
        result = self.returned(self.code)
        assert result is None or isinstance(result, EdslValue)
        return result


def _type(parameter: BoundParameter) -> Type:
    assert parameter.dtype is not None
    element = number(parameter.dtype)
    writable = parameter.effect != "In"
    if parameter.is_barrier:
        return BarrierType(element, parameter.dims, writable, first=int(parameter.buffer == READY_BARRIER))
    if parameter.is_descriptor:
        return DescriptorType(element, parameter.dims)
    if parameter.kind == TILE:
        layout = "" if parameter.cxx_layout == ROW_MAJOR_IN_CXX else parameter.cxx_layout
        return TileType(element, parameter.dims, writable, layout)
    if parameter.kind == POINTER:
        return PointerType(element, 1, writable or bool(getattr(parameter, "spelling", "")))
    return element


ROW_MAJOR_IN_CXX = f"tle::{ROW_MAJOR}"


def read_into(
    builder: Builder, code: Code, symbol: str, bound: BoundSignature, target: Target, codes: Mapping[int, Code]
) -> float:
    """Build the module; the seconds that it took."""
    start = time.perf_counter()
    reader = Reader(builder, code, bound, target, codes)
    try:
        reader.read_function(symbol)
    except RecursionError:
        reader.emit.fail("the function is nested too deeply", hint="split long expressions and deep nests of calls")
    except (OverflowError, ValueError) as error:  # of Python, about a constant: int(nan), float(10**400)
        reader.emit.fail(f"a constant cannot be computed: {error}")
    return time.perf_counter() - start
