"""Emits operations at the place of the Python expression that is being read, and says errors there."""

from __future__ import annotations

import ast
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from tle_raw.adapters.mlir.edsl.builder import Builder
from tle_raw.adapters.mlir.edsl.fp8 import decode_fp8, encode_fp8
from tle_raw.adapters.mlir.edsl.source import Code
from tle_raw.adapters.mlir.edsl.text_builder import quoted
from tle_raw.adapters.mlir.edsl.types import (
    BF16,
    BOOL,
    F32,
    F64,
    I16,
    I32,
    I64,
    INDEX,
    Number,
    PointerType,
    TileType,
    Type,
    Vector,
    literal_type,
)
from tle_raw.adapters.mlir.edsl.values import EdslValue, describe, is_literal
from tle_raw.errors import CompilationFailed, Context, Row, SourceLocation
from tle_raw.target import Target

_FLOAT_FORMATS = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}


class Emitter:
    """The builder, the place and the small operations that everything else is made of."""

    def __init__(self, builder: Builder, target: Target) -> None:
        self.builder = builder
        self.target = target
        self.code: Code  # of the function that is being read
        self.calls: list[SourceLocation] = []  # where the functions around it were called, outermost first
        self._node: ast.AST | None = None
        self._declared: dict[str, str] = {}
        self._strings: dict[bytes, str] = {}
        self._shared: dict[tuple[Any, ...], str] = {}
        self._counter = 0
        self.entry: Any = None  # the first block of the fragment

    # --- places and errors -------------------------------------------------------------------------------------

    @property
    def node(self) -> ast.AST | None:
        return self._node

    @node.setter
    def node(self, node: ast.AST) -> None:
        self._node = node
        self.builder.locate(self.code.location(node))

    @property
    def location(self) -> SourceLocation:
        return self.code.source_location(self._node)

    def fail(self, message: str, table: Sequence[Row] = (), hint: str = "", node: ast.AST | None = None) -> NoReturn:
        location = self.code.source_location(node) if node is not None else self.location
        log = "\n".join(f"called at {call}: {call.text.strip()}" for call in reversed(self.calls))
        raise CompilationFailed(message, table=table, hint=hint, log=log, context=Context(source=location))

    def mismatch(self, message: str, expected: str, got: object, what: str = "type", hint: str = "") -> NoReturn:
        self.fail(message, [Row(what, expected, got if isinstance(got, str) else describe(got))], hint)

    # --- operations --------------------------------------------------------------------------------------------

    def op(
        self, name: str, operands: Sequence[EdslValue], result: Type, attributes: Mapping[str, str] | None = None
    ) -> EdslValue:
        """An operation of one result."""
        handles = self.builder.create(name, [o.handle for o in operands], (result.mlir,), attributes)
        return EdslValue(handles[0], result)

    def raw(
        self,
        name: str,
        operands: Sequence[EdslValue],
        result: str,
        type_: Type,
        attributes: Mapping[str, str] | None = None,
    ) -> EdslValue:
        """An operation whose result has another MLIR type than its meaning here: a byte that is an f8."""
        handles = self.builder.create(name, [o.handle for o in operands], (result,), attributes)
        return EdslValue(handles[0], type_)

    def do(self, name: str, operands: Sequence[EdslValue], attributes: Mapping[str, str] | None = None) -> None:
        """An operation without results."""
        self.builder.create(name, [o.handle for o in operands], (), attributes)

    def unique(self, stem: str) -> str:
        """A new name for a symbol of the module."""
        self._counter += 1
        return f"tle_{stem}_{self._counter}"

    def call(self, symbol: str, operands: Sequence[EdslValue], result: Type | None) -> EdslValue | None:
        """Call a device function that the module only declares: of libdevice, or of the driver."""
        types = [o.type.mlir for o in operands]
        result_type = (result.mlir.replace("!llvm.", "") if result else "void").replace("!llvm.", "")
        function_type = f"!llvm.func<{result_type} ({', '.join(t.replace('!llvm.', '') for t in types)})>"
        if symbol not in self._declared:
            self._declared[symbol] = function_type
            with self.builder.at_top():
                attributes = {
                    "sym_name": f'"{symbol}"',
                    "function_type": function_type,
                    "linkage": "#llvm.linkage<external>",
                }
                self.builder.create("llvm.func", (), (), attributes, (self.builder.region(),))
        attributes = {
            "callee": f"@{symbol}",
            "op_bundle_sizes": "array<i32>",
            "operandSegmentSizes": f"array<i32: {len(operands)}, 0>",
        }
        results = (result.mlir,) if result else ()
        handles = self.builder.create("llvm.call", [o.handle for o in operands], results, attributes)
        return EdslValue(handles[0], result) if result else None

    # --- constants ---------------------------------------------------------------------------------------------

    def constant(self, value: bool | int | float, type_: Number | None = None) -> EdslValue:
        """A constant of Python as a value; what does not fit its type is an error."""
        wanted = type_ or literal_type(value)
        if isinstance(value, float) and not wanted.is_float:
            self.mismatch(f"the constant {value!r} is no {wanted}", str(wanted), "a float", "value")
        if wanted.is_bool and not isinstance(value, bool) and value not in (0, 1):
            self.mismatch(f"the constant {value!r} is no bool", "True or False", repr(value), "value")
        if wanted.is_integer and not wanted.range[0] <= value <= wanted.range[1]:
            low, high = wanted.range
            self.mismatch(f"the constant {value} does not fit into {wanted}", f"{low} to {high}", repr(value), "value")
        if wanted.is_fp8:
            return encode_fp8(self, self.constant(float(value), F32), wanted)
        return self.raw("arith.constant", (), wanted.mlir, wanted, {"value": _literal(value, wanted)})

    def value(self, given: object, type_: Number | None = None) -> EdslValue:
        """A constant becomes a value of ``type_``; a value stays what it is."""
        if isinstance(given, EdslValue):
            return given
        if is_literal(given):
            return self.constant(given, type_)  # type: ignore[arg-type]
        return self.mismatch("this is no value that a kernel can compute with", "a number", given)

    def number(self, given: object, what: str = "this") -> EdslValue:
        """A value that is one number."""
        value = self.value(given)
        if not isinstance(value.type, Number):
            hint = "read an element of it: t[i]" if not isinstance(value.type, (Vector,)) else ""
            self.mismatch(f"{what} is no number", "a number", given, hint=hint)
        return value

    def integer(self, given: object, what: str, type_: Number | None = I32) -> EdslValue:
        """A value that is an integer; a literal is of ``type_``."""
        if isinstance(given, (bool, float)):
            self.mismatch(f"{what} is no integer", "an integer", given)
        value = self.number(self.value(given, None if type_ is None else _fitting(given, type_)), what)
        if not isinstance(value.type, Number) or not value.type.is_integer:
            self.mismatch(f"{what} is no integer", "an integer", given)
        return value

    # --- conversions -------------------------------------------------------------------------------------------

    def convert(self, given: object, type_: Number) -> EdslValue:
        """A number as another number: integers wrap, floats round to the nearest, float to integer truncates."""
        if not isinstance(given, EdslValue):
            if is_literal(given):
                return self.constant(_cast_literal(given, type_), type_)  # type: ignore[arg-type]
            self.mismatch(f"this cannot be converted to {type_}", "a number", given)
        source = given.type
        if isinstance(source, Vector):
            return self._convert_vector(given, type_)
        if not isinstance(source, Number):
            self.mismatch(f"a {describe(given)} cannot be converted to {type_}", "a number", given)
        if source is type_:
            return given
        if source.is_fp8 or type_.is_fp8:
            wide = decode_fp8(self, given) if source.is_fp8 else given
            if not type_.is_fp8:
                return self.convert(wide, type_)
            return encode_fp8(self, self.convert(wide, F32), type_)
        return self._convert_number(given, source, type_)

    def reinterpret(self, value: object, type_: Number) -> EdslValue:
        """The same bits, as another type of the same size."""
        given = self.number(value, "what is cast")
        source = given.type
        assert isinstance(source, Number)
        if source.bits != type_.bits:
            self.mismatch("a bitcast keeps the size", f"{source.bits} bits", f"{type_.bits} bits", str(type_))
        if source.mlir == type_.mlir:
            return EdslValue(given.handle, type_)
        return self.op("arith.bitcast", (given,), type_)

    def _convert_number(self, value: EdslValue, source: Number, type_: Number) -> EdslValue:
        if type_.is_bool:
            return self.truth(value)
        if source is INDEX and type_.is_float:
            return self._convert_number(self.convert(value, I64), I64, type_)
        if type_ is INDEX and source.is_float:
            return self.convert(self._convert_number(value, source, I64), INDEX)
        if source is INDEX or type_ is INDEX:
            signed = type_.is_signed if source is INDEX else source.is_signed
            return self.op("arith.index_cast" if signed else "arith.index_castui", (value,), type_)
        if source.is_float and type_.is_float:
            return self._convert_float(value, source, type_)
        if source.is_float:
            return self.op("arith.fptosi" if type_.is_signed else "arith.fptoui", (value,), type_)
        if type_.is_float:
            return self.op("arith.sitofp" if source.is_signed else "arith.uitofp", (value,), type_)
        if source.bits == type_.bits:
            return EdslValue(value.handle, type_)
        if source.bits > type_.bits:
            return self.op("arith.trunci", (value,), type_)
        return self.op("arith.extsi" if source.is_signed else "arith.extui", (value,), type_)

    def _convert_float(self, value: EdslValue, source: Number, type_: Number) -> EdslValue:
        if source.bits == type_.bits:  # f16 and bf16
            return self.convert(self.convert(value, F32), type_)
        if source is BF16:  # the upper half of an f32; LLVM 22 fails on `copysign` of an extended bf16
            half = self.op("arith.extui", (self.op("arith.bitcast", (value,), I16),), I32)
            bits = self.op("arith.shli", (half, self.constant(16, I32)), I32)
            return self.convert(self.op("arith.bitcast", (bits,), F32), type_)
        if source is F64 and type_ is BF16:
            return self.op("arith.truncf", (self._rounded_to_odd(value),), type_)
        return self.op("arith.extf" if source.bits < type_.bits else "arith.truncf", (value,), type_)

    def _rounded_to_odd(self, value: EdslValue) -> EdslValue:
        """An f64 as an f32 whose last bit says whether something was cut off, so that rounding again is right.

        Not every target has an operation from f64 to bf16.
        """
        near = self.op("arith.truncf", (value,), F32)
        back = self.op("arith.extf", (near,), F64)
        inexact = self.op("arith.cmpf", (back, value), BOOL, {"predicate": "6 : i64"})  # one: false for a NaN
        sizes = [self.op("llvm.intr.fabs", (v,), F64) for v in (back, value)]
        larger = self.op("arith.cmpf", sizes, BOOL, {"predicate": "2 : i64"})
        bits = self.op("arith.bitcast", (near,), I32)
        cut = self.op("arith.subi", (bits, self.op("arith.extui", (larger,), I32)), I32)
        odd = self.op("arith.ori", (cut, self.constant(1, I32)), I32)
        return self.select(inexact, self.op("arith.bitcast", (odd,), F32), near)

    def _convert_vector(self, value: EdslValue, type_: Number) -> EdslValue:
        source = value.type
        assert isinstance(source, Vector)
        elements = [self.convert(self.extract(value, lane), type_) for lane in range(source.length)]
        return self.vector(elements)

    # --- vectors -----------------------------------------------------------------------------------------------

    def extract(self, vector: EdslValue, lane: int) -> EdslValue:
        assert isinstance(vector.type, Vector)
        return self.op("llvm.extractelement", (vector, self.constant(lane, I32)), vector.type.element)

    def insert(self, vector: EdslValue, lane: int, element: EdslValue) -> EdslValue:
        return self.op("llvm.insertelement", (vector, element, self.constant(lane, I32)), vector.type)

    def vector(self, elements: Sequence[EdslValue]) -> EdslValue:
        """A vector of these numbers, which are of one type."""
        type_ = Vector(elements[0].type, len(elements))  # type: ignore[arg-type]
        vector = self.op("llvm.mlir.poison", (), type_)
        for lane, element in enumerate(elements):
            vector = self.insert(vector, lane, element)
        return vector

    # --- truth -------------------------------------------------------------------------------------------------

    def truth(self, given: object) -> EdslValue:
        """Whether a value is not zero, as an i1."""
        value = self.value(given)
        type_ = value.type
        if type_ is BOOL:
            return value
        if not isinstance(type_, Number) or type_.is_fp8:
            self.mismatch("this is neither true nor false", "a bool or a number", given, hint="compare it to something")
        zero = self.constant(0.0 if type_.is_float else 0, type_)
        if type_.is_float:
            return self.op("arith.cmpf", (value, zero), BOOL, {"predicate": "13 : i64"})  # une: a NaN is true
        return self.op("arith.cmpi", (value, zero), BOOL, {"predicate": "1 : i64"})

    def negate_bool(self, value: EdslValue) -> EdslValue:
        return self.op("arith.xori", (value, self.constant(True)), BOOL)

    def select(self, condition: EdslValue, one: EdslValue, other: EdslValue) -> EdslValue:
        return self.op("arith.select", (condition, one, other), one.type)

    # --- data of the module --------------------------------------------------------------------------------------

    def static_shared(self, tile: TileType) -> EdslValue:
        """Shared memory of the place that is being read, in each of the calls that led here."""
        where = (tuple(map(str, self.calls)), str(self.location), tile)
        symbol = self._shared.get(where)
        if symbol is None:
            symbol = self._shared[where] = self.unique("shared")
            type_ = f"!llvm.array<{tile.size} x {tile.element.storage}>"
            with self.builder.at_top():
                attributes = {
                    "sym_name": f'"{symbol}"',
                    "global_type": type_,
                    "linkage": "#llvm.linkage<internal>",
                    "addr_space": "3 : i32",
                    "alignment": "16 : i64",
                }
                region = self.builder.region()
                with self.builder.inside(self.builder.block(region)):
                    (nothing,) = self.builder.create("llvm.mlir.undef", (), (type_,))
                    self.builder.create("llvm.return", (nothing,))
                self.builder.create("llvm.mlir.global", (), (), attributes, (region,))
        return self.op("llvm.mlir.addressof", (), tile, {"global_name": f"@{symbol}"})

    def buffer(self, type_: str) -> EdslValue:
        """Memory of the thread for one value of an MLIR type; claimed once, also for a place in a loop."""
        with self.builder.at_start(self.entry):
            one = self.constant(1, I32)
            return self.op("llvm.alloca", (one,), PointerType(None, 0), {"elem_type": type_})

    def string(self, text: str) -> EdslValue:
        """The address of a string that ends with a zero."""
        data = text.encode() + b"\0"
        symbol = self._strings.get(data)
        if symbol is None:
            symbol = self._strings[data] = self.unique("text")
            with self.builder.at_top():
                attributes = {
                    "sym_name": f'"{symbol}"',
                    "global_type": f"!llvm.array<{len(data)} x i8>",
                    "linkage": "#llvm.linkage<internal>",
                    "constant": "unit",
                    "addr_space": "0 : i32",
                    "value": quoted(text + "\0"),
                }
                self.builder.create("llvm.mlir.global", (), (), attributes, (self.builder.region(),))
        return self.op("llvm.mlir.addressof", (), PointerType(None, 0), {"global_name": f"@{symbol}"})


def _fitting(given: object, type_: Number) -> Number:
    """The type of an integer literal: the wanted one where it fits."""
    if isinstance(given, int) and not type_.range[0] <= given <= type_.range[1]:
        return literal_type(given)
    return type_


def _cast_literal(value: bool | int | float, type_: Number) -> bool | int | float:
    if type_.is_float:
        return float(value)
    if type_.is_bool:
        return bool(value)
    return int(value)


def _literal(value: bool | int | float, type_: Number) -> str:
    """A constant as an attribute: exact for every float."""
    if type_.is_bool:
        return "true" if value else "false"
    if not type_.is_float:
        whole = int(value)
        if not type_.is_signed and whole >= 1 << (type_.bits - 1):
            whole -= 1 << type_.bits
        return f"{whole} : {type_.mlir}"
    number = float(value)
    text = repr(number)
    if number == number and abs(number) != float("inf") and abs(number) < 1e16:
        return f"{text if '.' in text else text.replace('e', '.0e')} : {type_.mlir}"
    if type_.name == "bf16":
        (bits,) = struct.unpack("<I", struct.pack("<f", _narrowed(number, "<f")))
        return f"0x{bits >> 16:04X} : bf16"
    float_format, bits_format = _FLOAT_FORMATS[type_.name]
    (bits,) = struct.unpack(bits_format, struct.pack(float_format, _narrowed(number, float_format)))
    return f"0x{bits:0{type_.bits // 4}X} : {type_.mlir}"


def _narrowed(value: float, float_format: str) -> float:
    try:
        struct.pack(float_format, value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return value
