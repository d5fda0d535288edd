"""printf and assert in device code: the driver's vprintf and __assertfail."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.types import F64, I32, I64, INDEX, Number, PointerType, TileType
from tle_raw.adapters.mlir.edsl.values import EdslValue, describe
from tle_raw.errors import Row

_SPECIFIER = re.compile(
    r"%(?:%|(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<precision>\.\d+)?(?P<length>hh|h|ll|l|j|z|t)?(?P<kind>.))", re.DOTALL
)
_INTEGERS, _FLOATS = "diuxXoc", "fFeEgGaA"
MOST_VALUES = 32


def print_formatted(emit: Emitter, text: str, values: Sequence[object]) -> None:
    """``printf``: the specifiers are checked against the values, and widened to them."""
    found = [m for m in _SPECIFIER.finditer(text) if m[0] != "%%"]
    if len(found) != len(values):
        emit.mismatch("the format and the values differ in number", str(len(found)), str(len(values)), "values")
    passed: list[EdslValue] = []
    pieces, position = [], 0
    for match, value in zip(found, values):
        specifier, argument = _argument(emit, match, value)
        pieces += [text[position : match.start()], specifier]
        passed.append(argument)
        position = match.end()
    _vprintf(emit, "".join([*pieces, text[position:]]), passed)


def print_values(emit: Emitter, items: Sequence[object], separator: object, end: object) -> None:
    """``print``: each value by its type."""
    if not isinstance(separator, str) or not isinstance(end, str):
        emit.mismatch("sep and end are constant strings", "a string", separator)
    pieces: list[str] = []
    values: list[object] = []
    for item in _spread(items):
        if isinstance(item, EdslValue):
            pieces.append(_specifier(emit, item))
            values.append(item)
        else:
            pieces.append(str(item).replace("%", "%%"))
    print_formatted(emit, separator.replace("%", "%%").join(pieces) + end.replace("%", "%%"), values)


def check(emit: Emitter, condition: EdslValue, message: str, function: str, values: Sequence[object] = ()) -> None:
    """``assert``: a thread for which the condition does not hold stops the kernel, and prints the values before."""
    builder, location = emit.builder, emit.location
    region = builder.region()
    with builder.inside(builder.block(region)):
        if values:
            print_formatted(emit, message, values)
        strings = (
            emit.string(message.rstrip("\n")),
            emit.string(location.file),
            emit.constant(location.line, I32),
            emit.string(function),
        )
        emit.call("__assertfail", (*strings, emit.constant(1, I64)), None)
        builder.create("scf.yield")
    builder.create("scf.if", [emit.negate_bool(condition).handle], (), None, (region, builder.region()))


def _spread(items: Sequence[object]) -> list[object]:
    found: list[object] = []
    for item in items:
        found += _spread(item) if isinstance(item, tuple) else [item]
    return found


def _specifier(emit: Emitter, value: EdslValue) -> str:
    type_ = value.type
    if isinstance(type_, (PointerType, TileType)):
        return "%p"
    if not isinstance(type_, Number):
        emit.mismatch("this cannot be printed", "a number or a pointer", value)
    if type_.is_float:
        return "%g"
    return "%d" if type_.is_signed or type_.bits < 32 else "%u"


def _argument(emit: Emitter, match: re.Match[str], given: object) -> tuple[str, EdslValue]:
    kind = match["kind"]
    start = f"%{match['flags']}{match['width']}{match['precision'] or ''}"
    if kind == "s":
        if not isinstance(given, str):
            emit.mismatch(f"`{match[0]}` prints constant strings", "a string", given)
        return f"{start}s", emit.string(given)
    if kind == "p":
        if not isinstance(given, EdslValue) or not isinstance(given.type, (PointerType, TileType)):
            emit.mismatch(f"`{match[0]}` prints pointers", "a pointer or a tile", given)
        return f"{start}p", _generic(emit, given)
    if kind not in _INTEGERS + _FLOATS:
        emit.fail(f"`{match[0]}` is no specifier that device code has", hint="%d %u %x %f %g %e %s %p %c %%")
    value = emit.number(given, f"the value of `{match[0]}`")
    type_ = value.type
    assert isinstance(type_, Number)
    if kind in _FLOATS:
        return start + kind, emit.convert(value, F64)
    if type_.is_float:
        row = Row(match[0], "an integer", describe(given))
        emit.fail(f"`{match[0]}` prints integers", [row], f"use {start}f")
    if type_.bits < 64:
        return start + kind, emit.convert(value, I32)
    return f"{start}ll{kind}", emit.convert(value, I64) if type_ is INDEX else value


def _generic(emit: Emitter, value: EdslValue) -> EdslValue:
    if isinstance(value.type, PointerType) and value.type.space == 0:
        return value
    return emit.op("llvm.addrspacecast", (value,), PointerType(None, 0))


def _vprintf(emit: Emitter, text: str, values: list[EdslValue]) -> None:
    """The values lie one after the other in a buffer, each aligned by its own size."""
    if len(values) > MOST_VALUES:
        emit.mismatch("printf takes fewer values", f"at most {MOST_VALUES}", str(len(values)), "values")
    pointer = PointerType(None, 0)
    buffer: Any
    if values:
        struct = f"!llvm.struct<({', '.join(v.type.mlir.replace('!llvm.', '') for v in values)})>"
        buffer = emit.buffer(struct)
        for index, value in enumerate(values):
            attributes = {"elem_type": struct, "rawConstantIndices": f"array<i32: 0, {index}>"}
            slot = emit.op("llvm.getelementptr", (buffer,), pointer, attributes)
            emit.do("llvm.store", (value, slot))
    else:
        buffer = emit.op("llvm.mlir.zero", (), pointer)
    emit.call("vprintf", (emit.string(text), buffer), I32)
