"""The text that is written, and small arithmetic on scalars, of which constants are folded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tle_raw.errors import LoweringError
from tle_raw.flir.cpu.convert.kernel import location_of
from tle_raw.flir.cpu.mlir_values import Operation
from tle_raw.targets.ascend.linalg.values import Affine, Mask, Scalar, Splat, Tile, Value, tensor_type


class Writer:
    """Lines of one function, each with the location of what it was made for."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.values: dict[Any, Value] = {}
        self.depth, self.count = 2, 0
        self.op: Operation | None = None  # that is converted
        self._constants: dict[tuple[object, str], Scalar] = {}
        self.constant_lines: list[str] = []

    # --- lines ----------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append(f"{'  ' * self.depth}{text}{self.place()}")

    def place(self) -> str:
        """The kernel's line, for the compiler's errors."""
        where = location_of(self.op.location) if self.op is not None else None
        if where is None or not where.line:
            return ""
        file = where.file.replace("\\", "\\\\").replace('"', '\\"')
        return f' loc("{file}":{where.line}:{where.column})'

    def new(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def write(self, text: str) -> str:
        """An operation with one result: its name."""
        name = self.new()
        self.line(f"{name} = {text}")
        return name

    def refuse(self, why: str) -> LoweringError:
        """An error at the kernel's line."""
        error = LoweringError(f"kernels for Ascend: {why}")
        if self.op is not None:
            error.at(call_site=location_of(self.op.location))
        return error

    # --- scalars --------------------------------------------------------------------------------------------------

    def constant(self, number: int | float | str, type_: str) -> Scalar:
        key = (number, type_)
        if key not in self._constants:
            name = f"%c{len(self._constants)}"
            self.constant_lines.append(f"    {name} = arith.constant {number} : {type_}")
            self._constants[key] = Scalar(name, type_, number if isinstance(number, int) else None)
        return self._constants[key]

    def binary(self, name: str, a: Scalar, b: Scalar) -> Scalar:
        """Of two integers of one type."""
        if a.type != b.type:
            wide = max((a.type, b.type), key=lambda t: 64 if t == "index" else int(t[1:]))
            a, b = self.cast(a, wide), self.cast(b, wide)
        if a.number is not None and b.number is not None and name in _FOLDED:
            return self.constant(_FOLDED[name](a.number, b.number), a.type)
        if name == "addi" and 0 in (a.number, b.number):
            return b if a.number == 0 else a
        if name == "muli" and 1 in (a.number, b.number):
            return b if a.number == 1 else a
        if name == "muli" and 0 in (a.number, b.number):
            return self.constant(0, a.type)
        return Scalar(self.write(f"arith.{name} {a.name}, {b.name} : {a.type}"), a.type)

    def cast(self, value: Scalar, type_: str) -> Scalar:
        """An integer of another width, or an index."""
        if value.type == type_:
            return value
        if value.number is not None:
            return self.constant(value.number, type_)
        if "index" in (value.type, type_):
            name = "index_cast"
        else:
            name = "extsi" if int(type_[1:]) > int(value.type[1:]) else "trunci"
        return Scalar(self.write(f"arith.{name} {value.name} : {value.type} to {type_}"), type_)

    def index(self, value: Scalar) -> Scalar:
        return self.cast(value, "index")

    def clamped(self, value: Scalar, dim: int) -> Scalar:
        """An index from 0 to ``dim``."""
        low = self.binary("maxsi", self.index(value), self.constant(0, "index"))
        return self.binary("minsi", low, self.constant(dim, "index"))

    # --- tensors --------------------------------------------------------------------------------------------------

    def empty(self, shape: tuple[int, ...], element: str) -> str:
        return self.write(f"tensor.empty() : {tensor_type(shape, element)}")

    def filled(self, shape: tuple[int, ...], value: Scalar) -> Tile:
        type_ = tensor_type(shape, value.type)
        empty = self.empty(shape, value.type)
        name = self.write(f"linalg.fill ins({value.name} : {value.type}) outs({empty} : {type_}) -> {type_}")
        return Tile(name, shape, value.type)

    def tile(self, value: Value) -> Tile:
        """The tensor of a value that is none yet."""
        if isinstance(value, Tile):
            return value
        if isinstance(value, Splat):
            return self.filled(value.shape, value.value)
        if isinstance(value, Affine):
            return self.filled(value.shape, value.offset) if value.is_splat else self._computed(value)
        if isinstance(value, Mask):
            raise self.refuse("a mask that says more than how many elements are meant is not converted")
        raise self.refuse("pointers, buffers and the like are no tensors")

    def _computed(self, value: Affine) -> Tile:
        type_, element = tensor_type(value.shape, value.offset.type), value.offset.type
        axes = ", ".join(f"d{axis}" for axis in range(len(value.shape)))
        empty, name = self.empty(value.shape, element), self.new()
        kinds = ", ".join('"parallel"' for _ in value.shape)
        self.line(
            f"{name} = linalg.generic {{indexing_maps = [affine_map<({axes}) -> ({axes})>], "
            f"iterator_types = [{kinds}]}} outs({empty} : {type_}) {{"
        )
        self.lines[-1] = self.lines[-1].removesuffix(self.place())
        self.lines.append(f"{'  ' * self.depth}^bb0(%out: {element}):")
        self.depth += 1
        total = value.offset
        for axis, stride in enumerate(value.strides):
            if stride.number != 0:
                place = Scalar(self.write(f"linalg.index {axis} : index"), "index")
                total = self.binary("addi", total, self.binary("muli", self.cast(place, element), stride))
        self.line(f"linalg.yield {total.name} : {element}")
        self.depth -= 1
        self.line(f"}} -> {type_}")
        return Tile(name, value.shape, element)


_FOLDED: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "maxsi": max,
    "minsi": min,
}
