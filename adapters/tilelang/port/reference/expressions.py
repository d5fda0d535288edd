"""Numbers of a PrimFunc's expressions: one, or one for each lane of the parallel loops that are open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tle_raw.adapters.tilelang.port.reference.functions import FUNCTIONS
from tle_raw.adapters.tilelang.port.reference.numbers import Unevaluated, bits_of, converted, held_as
from tle_raw.adapters.tilelang.program import Program

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.fmax, "Min": np.fmin, "EQ": np.equal,
    "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal,
    "And": np.logical_and, "Or": np.logical_or, "FloorDiv": np.floor_divide, "FloorMod": np.mod, "Mod": np.fmod,
}  # fmt: skip


class Expressions:
    """Memory by the variable that all views of it share; variables; the parallel loops that are open."""

    def __init__(self, program: Program, values: Mapping[str, Any], dims: Mapping[str, int]) -> None:
        self.program, self.updates = program, False
        self.memory: dict[Any, Any] = {}
        self.marks: dict[Any, Any] = {}
        self.named: dict[str, Any] = {}
        self.written: dict[str, Any] = {}
        self.given: dict[Any, Any] = {v: np.int64(dims[n]) for n, v in program.dims.items() if n in dims}
        self.given |= {v: values[n] for n, v in program.scalars.items()}
        for name, buffer in program.buffers.items():
            self.memory[buffer.data] = self.named[name] = values[name]
            self.marks[buffer.data] = self.written[name] = np.zeros(values[name].shape, bool)
        self.variables: dict[Any, Any] = dict(self.given)
        self.lanes: list[tuple[Any, int]] = []
        self.masks: list[Any] = []

    def start_block(self, indices: dict[Any, int]) -> None:
        self.variables = {**self.given, **{v: np.int32(i) for v, i in indices.items()}}
        globals_ = {b.data for b in self.program.buffers.values()}
        self.memory = {data: array for data, array in self.memory.items() if data in globals_}

    def array(self, buffer: Any) -> Any:
        """The memory of a buffer; a view has another shape of the same elements."""
        shape = [int(self.scalar(e)) for e in buffer.shape]
        dtype = held_as(str(buffer.dtype))
        held = self.memory.get(buffer.data)
        if held is None:
            held = self.memory[buffer.data] = np.zeros(shape, dtype)
        if list(held.shape) != shape:
            if held.size != int(np.prod(shape)) or held.dtype != dtype or not held.flags.c_contiguous:
                raise Unevaluated(f"`{buffer.name}`, a view of other memory")
            return held.reshape(shape)
        if held.dtype != dtype:
            raise Unevaluated(f"`{buffer.name}`, a view with another dtype")
        return held

    def _variable(self, buffer: Any) -> Any:
        held = self.variables.get(buffer.data)
        return self.array(buffer)[0] if held is None else held

    def _places(self, buffer: Any, indices: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
        sizes, found, inside = self.array(buffer).shape, [], np.ones((), bool)
        for each, size in zip(indices, sizes):
            place = np.asarray(self.value(each)).astype(np.int64)
            held = (place >= 0) & (place < size)
            inside = inside & held
            found.append(np.where(held, place, 0))
        return tuple(found), inside

    def scalar(self, expression: Any) -> Any:
        value = self.value(expression)
        if np.ndim(value):
            raise Unevaluated(f"{expression} in a parallel loop")
        return value

    def value(self, expression: Any) -> Any:
        """A number, or one for each lane."""
        if isinstance(expression, (int, float)):
            return expression
        kind = type(expression).__name__
        if kind in _BINARY:
            return _BINARY[kind](self.value(expression.a), self.value(expression.b))
        handler = getattr(self, f"_{kind}", None)
        if handler is None:
            raise Unevaluated(f"the expression {kind}")
        return handler(expression)

    def _IntImm(self, number: Any) -> Any:
        return held_as(str(number.dtype)).type(number.value)

    def _FloatImm(self, number: Any) -> Any:
        return np.float64(number.value)

    def _Var(self, variable: Any) -> Any:
        if variable not in self.variables:
            raise Unevaluated(f"the value of `{variable.name}`")
        return self.variables[variable]

    _SizeVar = _Var

    def _Cast(self, cast: Any) -> Any:
        return converted(self.value(cast.value), str(cast.dtype), str(cast.value.dtype))[()]

    def _Not(self, expression: Any) -> Any:
        return np.logical_not(self.value(expression.a))

    def _Div(self, quotient: Any) -> Any:
        a, b = self.value(quotient.a), self.value(quotient.b)
        if np.asarray(a).dtype.kind == "f":
            return np.divide(a, b)
        return np.trunc(np.divide(a, b)).astype(np.asarray(a).dtype)

    def _Select(self, choice: Any) -> Any:
        return self._chosen(choice.condition, choice.true_value, choice.false_value)

    def _Let(self, let: Any) -> Any:
        self.variables[let.var] = self.value(let.value)
        return self.value(let.body)

    def _BufferLoad(self, load: Any) -> Any:
        if self.lanes and is_variable(load.buffer):
            return self._variable(load.buffer)
        index, inside = self._places(load.buffer, load.indices)
        held = self.array(load.buffer)[index]
        return np.where(inside, held, np.zeros((), held.dtype))[()]

    def _chosen(self, condition: Any, yes: Any, no: Any) -> Any:
        held = self.value(condition)
        if np.ndim(held) == 0:
            return self.value(yes if bool(held) else no)
        return np.where(held, self.value(yes), self.value(no))

    def _Call(self, call: Any) -> Any:
        name = str(getattr(call.op, "name", call.op))
        if name == "tirx.if_then_else":
            return self._chosen(*call.args)
        if name == "tl.infinity":
            return np.float64(np.inf)
        if name == "tirx.reinterpret":
            return bits_of(self.value(call.args[0]), str(call.args[0].dtype), str(call.dtype))
        function = FUNCTIONS.get(name)
        if function is None:
            raise Unevaluated(f"the function {name}")
        found = function(*(self.value(a) for a in call.args if type(a).__name__ != "StringImm"))
        return converted(found, str(call.dtype), "")[()] if str(call.dtype) in ("float16", "bfloat16") else found


def is_variable(buffer: Any) -> bool:
    return bool(buffer.scope() == "local.var")
