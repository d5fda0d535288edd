"""One kernel of Triton's IR as the text of a Linalg module for bishengir-compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tle_raw.flir.cpu.mlir_values import Block, Operation
from tle_raw.targets.ascend.linalg import arithmetic, dsa, memory, reductions
from tle_raw.targets.ascend.linalg.control import convert_for, convert_if
from tle_raw.targets.ascend.linalg.types import element_of, is_pointer, shape_of
from tle_raw.targets.ascend.linalg.values import Scalar, Tile, Value
from tle_raw.targets.ascend.linalg.writer import Writer

# The compiler's own names for a kernel's last six arguments: the grid, and which program runs.
_GRID, _PROGRAM = ("%grid_x", "%grid_y", "%grid_z"), ("%program_x", "%program_y", "%program_z")
_TERMINATORS = ("scf.yield", "func.return", "tt.return")
_DOT = "tt.dot"


def convert(module: Any, name: str) -> str:
    """A module of the MLIR bindings, as ``flir/cpu/read_ttir.py`` gives it.

    Raises
    ------
    LoweringError : something of it has no form that the compiler takes; with the kernel's line.
    """
    functions = {str(f.operation.attributes["sym_name"].value): f.operation for f in module.body.operations}
    function, writer = functions[name], Writer()
    block = function.regions[0].blocks[0]
    arguments = ["%workspace: memref<?xi8>"]
    for number, argument in enumerate(block.arguments):
        arguments.append(_argument(writer, number, argument))
    arguments += [f"{each}: i32" for each in (*_GRID, *_PROGRAM)]
    conversion = _Conversion(writer)
    conversion.block(block)
    writer.op = function
    mode = "mix" if conversion.has_dot else "aiv"
    attributes = f'WorkspaceArgIdx = 0 : i64, global_kernel = "local", mix_mode = "{mode}"'
    head = f"  func.func @{name}({', '.join(arguments)}) attributes {{{attributes}}} {{"
    return "\n".join(
        ["module {", head, *writer.constant_lines, *writer.lines, "    return", f"  }}{writer.place()}", "}", ""]
    )


def _argument(writer: Writer, number: int, argument: Any) -> str:
    name, type_ = f"%arg{number}", str(argument.type)
    if is_pointer(type_):
        writer.values[argument] = memory.argument(name, type_, writer.constant(0, "i32"))
        return f"{name}: memref<?x{element_of(type_)}>"
    writer.values[argument] = Scalar(name, type_)
    return f"{name}: {type_}"


class _Conversion:
    """One function."""

    def __init__(self, writer: Writer) -> None:
        self.writer, self.has_dot = writer, False

    def block(self, block: Block) -> None:
        for view in block.operations:
            op = view.operation
            if op.name not in _TERMINATORS:
                self.writer.op = op
                self.operation(op)

    def operation(self, op: Operation) -> None:
        writer = self.writer
        if op.name == "scf.for":
            convert_for(writer, op, self.block)
        elif op.name == "scf.if":
            convert_if(writer, op, self.block)
        elif op.name in _WITH_RESULT:
            writer.values[op.results[0]] = _WITH_RESULT[op.name](writer, op)
            self.has_dot |= op.name == _DOT
        elif op.name in _WITHOUT:
            _WITHOUT[op.name](writer, op)
        elif op.name.startswith(("arith.", "math.")) and len(op.results) == 1:
            writer.values[op.results[0]] = arithmetic.elementwise(writer, op)
        else:
            raise writer.refuse(f"`{op.name}` is not converted in this release")


def _program(names: tuple[str, ...]) -> Callable[[Writer, Operation], Value]:
    return lambda writer, op: Scalar(names[int(op.attributes["axis"].value)], "i32")


def _dot(writer: Writer, op: Operation) -> Value:
    a, b, c = (writer.tile(writer.values[operand]) for operand in op.operands)
    name = writer.write(
        f"linalg.matmul ins({a.name}, {b.name} : {a.type}, {b.type}) outs({c.name} : {c.type}) -> {c.type}"
    )
    return Tile(name, shape_of(op.results[0].type), c.element)


_WITH_RESULT: dict[str, Callable[[Writer, Operation], Value]] = {
    "arith.constant": arithmetic.constant,
    "tt.get_program_id": _program(_PROGRAM),
    "tt.get_num_programs": _program(_GRID),
    "tt.splat": arithmetic.splat,
    "tt.make_range": arithmetic.make_range,
    "tt.expand_dims": arithmetic.expand_dims,
    "tt.broadcast": arithmetic.broadcast,
    "tt.addptr": memory.add_pointers,
    "tt.load": memory.load,
    "tt.reduce": reductions.reduce,
    "tt.reshape": reductions.reshape,
    _DOT: _dot,
    "ttg.local_alloc": dsa.alloc,
    "ttg.local_load": dsa.load,
}
_WITHOUT: dict[str, Callable[[Writer, Operation], None]] = {
    "tt.store": memory.store,
    "ttg.local_store": dsa.store,
    "tt.call": dsa.call,
}
