"""Conversions of operations that work on each element by itself, on scalars and on tiles."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import LoweringError
from tle_raw.flir.cpu.convert import build, casts, scalars, shared_buffers, tiles, types
from tle_raw.flir.cpu.convert.kernel import ELEMENTWISE, Kernel, converts
from tle_raw.flir.cpu.convert.plan import group_symbol
from tle_raw.flir.cpu.convert.tiles import BufferTile, Constant, Elementwise, Shared
from tle_raw.flir.cpu.convert.told import is_number
from tle_raw.flir.cpu.mlir_values import Operation, Type


@converts("arith.constant")
def constant(kernel: Kernel, op: Operation) -> None:
    attribute, result = op.attributes["value"], op.results[0]
    if not types.is_tile(result.type):
        kernel.set(result, scalars.emit(op, []))
        return
    shape, element = types.shape_of(result.type), types.element_of(result.type)
    if attribute.is_splat:
        kernel.set(result, Constant(shape, element, _scalar_attribute(attribute, element)))
    else:
        kernel.set(result, _dense(kernel, attribute, shape, element))


def _scalar_attribute(attribute: Any, element: Type) -> Any:
    splat = attribute.get_splat_value()
    if not types.is_small_float(element):
        return splat
    return build.attribute(f"{casts.small_float_bits(splat.value, str(element))} : i8")


def _dense(kernel: Kernel, attribute: Any, shape: tuple[int, ...], element: Type) -> BufferTile:
    """A constant with different elements: written into a buffer once."""
    buffer = kernel.allocate(shape, element)
    stored = types.in_memory(element)
    for at, number in enumerate(attribute):
        index = tiles.index_at(at, shape)
        value = build.constant(number, stored)
        buffer.store(value, index)
    return buffer


@converts(ELEMENTWISE)
def elementwise(kernel: Kernel, op: Operation) -> None:
    """One scalar operation, on a scalar or on every element of a tile; ``arith.select`` takes shared buffers too."""
    if shared_buffers.is_buffer(op.results[0].type):
        condition, *buffers = op.operands
        kernel.values[op.results[0]] = shared_buffers.select(kernel, kernel.scalar(condition), *buffers)
        return
    if not any(types.is_tile(r.type) for r in op.results):
        result = scalars.emit(op, [kernel.scalar(o) for o in op.operands])
        several = isinstance(result, tuple) and not isinstance(result, types.Address)
        for value, became in zip(op.results, result if several else (result,)):
            kernel.set(value, types.plain(became))
        return
    shape = types.shape_of(op.results[0].type)
    operands = [kernel.spread(o, shape) for o in op.operands]
    whole = Elementwise(shape, types.element_of(op.results[0].type), operands, _scalar_form(op))
    if len(op.results) == 1:
        kernel.set(op.results[0], whole)
        return
    for number, result in enumerate(op.results):
        kernel.set(result, Shared(whole, number, types.element_of(result.type)))


def _scalar_form(op: Operation) -> Any:
    def compute(*operands: Any) -> Any:
        with op.location:
            return scalars.emit(op, operands)

    return compute


@converts("tt.extern_elementwise")
def extern_elementwise(kernel: Kernel, op: Operation) -> None:
    if is_number(op):
        kernel.values[op.results[0]] = kernel.values[op.operands[0]]
        return
    from tle_raw.flir.cpu.convert import groups, regions

    symbol = op.attributes["symbol"].value
    if symbol.startswith("tle."):
        regions.convert_marker(kernel, op, symbol)
    elif group_symbol(op):
        groups.convert_function(kernel, op, symbol)
    else:
        elementwise(kernel, op)


@scalars.emits("tt.extern_elementwise")
def _extern(op: Operation, operands: Any) -> Any:
    from tle_raw.flir.cpu import libdevice

    symbol = op.attributes["symbol"].value
    if not libdevice.known(symbol):
        raise LoweringError(
            f"`{symbol}` is a device function that the CPU target does not know",
            hint="functions of libdevice are known; your own device code is a fragment: @tle_raw.dialect(...)",
        )
    return libdevice.emit(symbol, [types.plain(o) for o in operands], types.computed(scalars.result_type(op)))
