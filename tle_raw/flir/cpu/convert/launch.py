"""The function that the launcher calls: it unpacks the arguments and walks over the programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.convert import build
from tle_raw.flir.cpu.mlir_values import Type, Value
from tle_raw.flir.cpu.place_buffers import SMALL_AREA

STATUS, NUMBER, END = 1, 6, 7  # fields of the context


def add_launch(module: Any, kernel: str, arguments: Sequence[Type], may_wait: bool) -> None:
    """Add ``tle_launch`` for a kernel whose arguments have these types, and whose programs may wait for each other."""
    ir = mlir()
    pointer, wide = build.type_of("!llvm.ptr"), build.type_of("i64")
    type_ = ir.FunctionType.get([pointer, pointer, wide, wide, pointer], [])
    with ir.InsertionPoint(module.body):
        function = build.create(
            "func.func",
            (),
            (),
            {"function_type": ir.TypeAttr.get(type_), "sym_name": ir.StringAttr.get("tle_launch")},
            regions=1,
        )
    with build.block(function.regions[0], type_.inputs) as entry:
        packed, grid_at, first, last, context = entry.arguments
        values = [_unpacked(packed, number, t) for number, t in enumerate(arguments)]
        grid = [build.load(build.address(grid_at, n, "i32"), "i32") for n in range(3)]
        status = build.load(build.address(context, STATUS, "i64"), "!llvm.ptr")
        small = build.load(context, "!llvm.ptr")
        scratch = build.address(small, SMALL_AREA, "i8")
        if may_wait:
            build.store(last, build.address(context, END, "i64"))
        with build.counted(first, last, build.constant(1, "i64")) as number:
            # scf.for has no way out; after a failure the other programs of this call are skipped.
            healthy = build.compare(
                "eq", build.load(status, "i64", volatile_=build.attribute("unit")), build.constant(0, "i64")
            )
            if may_wait:
                healthy = build.binary("andi", healthy, _is_ours(context, number))
            with build.when(healthy):
                build.call(kernel, [*values, *_program(number, grid), *grid, small, scratch, context])
        build.create("func.return")


def _is_ours(context: Value, number: Value) -> Value:
    """Whether a program was not given to another thread while one before it waited; tells which program runs."""
    end = build.load(build.address(context, END, "i64"), "i64", volatile_=build.attribute("unit"))
    is_ours = build.compare("slt", number, end)
    with build.when(is_ours):
        build.store(number, build.address(context, NUMBER, "i64"))
    return is_ours


def _unpacked(packed: Value, number: int, type_: Type) -> Value:
    """An argument from its slot of 8 bytes."""
    slot = build.address(packed, number, "i64")
    if str(type_) == "i1":
        return build.compare("ne", build.load(slot, "i8"), build.constant(0, "i8"))
    return build.load(slot, type_, align=8)


def _program(number: Value, grid: Sequence[Value]) -> list[Value]:
    """The ids of a program from its number: x counts fastest."""
    x, y = (build.cast_integer(g, "i64") for g in grid[:2])
    ids = [
        build.binary("remui", number, x),
        build.binary("remui", build.binary("divui", number, x), y),
        build.binary("divui", number, build.binary("muli", x, y)),
    ]
    return [build.cast_integer(i, "i32") for i in ids]
