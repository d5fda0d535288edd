"""What a kernel says while it runs: device_print and device_assert."""

from __future__ import annotations

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.convert import build, checks, types
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.reduce import loops
from tle_raw.flir.cpu.convert.tiles import ScalarBody
from tle_raw.flir.cpu.mlir_values import Operation, Type, Value


@converts("tt.assert")
def device_assert(kernel: Kernel, op: Operation) -> None:
    message = str(op.attributes["message"].value)
    code = kernel.check("assert", message, op.location)
    condition = op.operands[0]
    if not types.is_tile(condition.type):
        failed = build.negated(kernel.scalar(condition))
        checks.fail(kernel, code, failed)
        return
    tile = kernel.tile(condition)
    with loops(tile.shape) as index:
        holds = ScalarBody().element(tile, tuple(index))
        where = tuple(
            build.cast_integer(i, "i64") if not isinstance(i, int) else build.constant(i, "i64") for i in index
        )
        checks.fail(kernel, code, build.negated(holds), where[:4])


@converts("tt.print")
def device_print(kernel: Kernel, op: Operation) -> None:
    """In the words of Triton on a GPU: ``pid (x, y, z) idx (i, j) prefix: value``, one line per element."""
    prefix, in_hex = str(op.attributes["prefix"].value), op.attributes["hex"].value
    signed = list(op.attributes["isSigned"]) if "isSigned" in op.attributes else []
    if not len(op.operands):
        _print(kernel, f"pid (%u, %u, %u){prefix}\n", list(kernel.program))
    for number, operand in enumerate(op.operands):
        count = f"(operand {number}) " if len(op.operands) > 1 else ""
        is_signed = bool(signed[number]) if number < len(signed) else True
        shape = types.shape_of(operand.type) if types.is_tile(operand.type) else ()
        with loops(shape) as index:
            value = (
                ScalarBody().element(kernel.tile(operand), tuple(index))
                if shape
                else types.plain(kernel.scalar(operand))
            )
            form, printed = _printable(types.plain(value), is_signed, in_hex, types.element_of(operand.type))
            at = ", ".join(["%u"] * len(index))
            indices = [build.constant(i, "i32") if isinstance(i, int) else build.cast_integer(i, "i32") for i in index]
            text = f"pid (%u, %u, %u) idx ({at}){prefix}{count}{form}\n"
            _print(kernel, text, [*kernel.program, *indices, printed])


def _printable(value: Value, signed: bool, in_hex: bool, element: Type) -> tuple[str, Value]:
    """printf's form for a value, and the value as printf takes it."""
    if types.is_pointer(element) or str(value.type) == "!llvm.ptr":
        return "%p", value
    if types.is_small_float(element):
        from tle_raw.flir.cpu.convert import casts

        value = casts.float_to_float(value, element, build.type_of("f32"))
    if build.is_float(value.type):
        if not in_hex:
            wide = value if str(value.type) == "f64" else build.value("arith.extf", [value], "f64")
            return "%f", wide
        value = build.value("arith.bitcast", [value], f"i{build.bits(value.type)}")
    width = build.bits(value.type)
    wide = build.cast_integer(value, "i64", signed=signed and not in_hex and width > 1)
    if in_hex:
        return f"0x%0{max(width // 4, 1)}llx", wide
    return ("%lli" if signed and width > 1 else "%llu"), wide


def _print(kernel: Kernel, form: str, values: list[Value]) -> None:
    """Call the host's printf, and hand over what it buffers: Python's own output stays in order."""
    ir = mlir()
    name = kernel.string(form)
    kernel.declare("printf", "!llvm.func<i32 (ptr, ...)>")
    kernel.declare("fflush", "!llvm.func<i32 (ptr)>")
    text = build.create(
        "llvm.mlir.addressof", [], [build.type_of("!llvm.ptr")], {"global_name": ir.FlatSymbolRefAttr.get(name)}
    ).results[0]
    build.call_outside("printf", [text, *values], "i32", "!llvm.func<i32 (ptr, ...)>")
    build.call_outside("fflush", [build.value("llvm.mlir.zero", [], "!llvm.ptr")], "i32")
