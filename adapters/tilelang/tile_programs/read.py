"""TIR's statements as those of a tile program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tle_raw.adapters.tilelang.locations import location_of
from tle_raw.adapters.tilelang.program import Program, is_call
from tle_raw.adapters.tilelang.program import statements as flat
from tle_raw.adapters.tilelang.regions import constant, is_global, is_parallel, nest_of, region_of
from tle_raw.adapters.tilelang.tile_programs.expressions import read_expression
from tle_raw.adapters.tilelang.tile_programs.names import Names
from tle_raw.adapters.tilelang.tir_types import Call, Expression
from tle_raw.errors import FragmentSourceError, Row, UnsupportedFeatureError
from tle_raw.tile_program import (
    Array,
    Box,
    Branch,
    Copy,
    Fill,
    Loop,
    Nest,
    Number,
    Product,
    Reduction,
    Statement,
    Store,
    TileProgram,
)

_ADVICE = ("threadblock_swizzle_pattern", "pragma_", "tl.", "kWarpSpecializationScope_no")
_NOTHING = ("tirx.tvm_storage_sync", "tl.sync_warp", "tirx.assume", "tl.no_set_max_nreg", "tl.set_max_nreg")


def read_tile_program(program: Program) -> TileProgram:
    """A PrimFunc that was taken apart, as a tile program.

    Raises
    ------
    UnsupportedFeatureError : a statement, a function or a shape that tile programs do not have; at the user's line.
    """
    names = Names()
    arrays = {}
    for name, buffer in program.buffers.items():
        word = names.buffer(buffer)
        arrays[word] = Array(word, _shape(buffer.shape, name), str(buffer.dtype))
        _check_contiguous(buffer, name)
    scalars = {names.variable(variable): str(variable.dtype) for variable in program.scalars.values()}
    grid = tuple(
        (names.variable(axis.variable), _size(axis.extent, f"the grid along {axis.name}")) for axis in program.grid
    )
    for buffer in program.locals:
        names.buffer(buffer)
    body = _Reader(names).body(program.body)
    buffers = {
        name: Array(name, _shape(buffer.shape, name), str(buffer.dtype))
        for name, buffer in names.buffers.items()
        if not is_global(buffer)
    }
    return TileProgram(program.name, program.order, arrays, scalars, grid, buffers, body)


def _shape(shape: Any, name: str) -> tuple[int, ...]:
    return tuple(_size(extent, f"a dim of `{name}`") for extent in shape)


def _size(extent: Expression | int, what: str) -> int:
    known = constant(extent)
    if known is None:
        raise UnsupportedFeatureError(
            f"{what} is known at the launch only",
            table=[Row(what, "a constant", str(extent))],
            hint="build the kernel for one size: arguments=dict(...) are for functions that build a PrimFunc",
        )
    return known


def _check_contiguous(buffer: Any, name: str) -> None:
    stride = 1
    for extent, own in zip(reversed(list(buffer.shape)), reversed(list(buffer.strides))):
        if constant(own) != stride:
            raise UnsupportedFeatureError(f"the array `{name}` has strides of its own", hint="make it contiguous")
        stride *= _size(extent, f"a dim of `{name}`")


class _Reader:
    def __init__(self, names: Names) -> None:
        self.names = names

    def body(self, node: Any) -> tuple[Statement, ...]:
        """The statements of a sequence, in order."""
        found: list[Statement] = []
        for statement in flat(node):
            try:
                found.extend(self._one(statement))
            except (UnsupportedFeatureError, FragmentSourceError) as e:
                raise e.at(source=location_of(statement)) from None
        return tuple(found)

    def _one(self, statement: Any) -> list[Statement]:
        kind = type(statement).__name__
        if kind == "For":
            return [self._nest(statement) if is_parallel(statement) else self._loop(statement)]
        if kind == "Evaluate":
            return self._evaluate(statement)
        if kind == "IfThenElse":
            return self._branch(statement)
        if kind == "AttrStmt":
            if not str(statement.attr_key).startswith(_ADVICE):
                raise UnsupportedFeatureError(f"the attribute {statement.attr_key} has no word in tile programs")
            return list(self.body(statement.body))
        if kind in ("SBlockRealize", "SBlock"):
            block = statement.block if kind == "SBlockRealize" else statement
            for buffer in block.alloc_buffers:
                self.names.buffer(buffer)
            return list(self.body(block.body))
        if kind == "Bind":
            return self._bind(statement)
        if kind == "BufferStore":
            store = self._store(statement, ())
            return [Nest((), (store,), location_of(statement))]
        if kind in ("AllocBuffer", "DeclBuffer"):
            self.names.buffer(statement.buffer)
            return list(self.body(statement.body)) if hasattr(statement, "body") else []
        raise UnsupportedFeatureError(f"the statement {kind} has no word in tile programs")

    def _bind(self, statement: Any) -> list[Statement]:
        if not is_call(statement.value, "tl.launch_thread_idx"):
            self.names.bound[statement.var] = statement.value
        return []

    def _loop(self, loop: Any) -> Statement:
        if loop.thread_binding is not None:
            raise UnsupportedFeatureError(f"a loop that is bound to {loop.thread_binding.thread_tag}")
        name = self.names.variable(loop.loop_var)
        start = read_expression(self.names, loop.min)
        stop = read_expression(self.names, loop.min + loop.extent)
        stages = constant(loop.annotations["num_stages"]) if "num_stages" in loop.annotations else 0
        return Loop(name, start, stop, self.body(loop.body), stages or 0, location_of(loop))

    def _nest(self, loop: Any) -> Statement:
        loops = list(nest_of(loop))
        for each in loops:
            if constant(each.min) != 0:
                raise UnsupportedFeatureError("a T.Parallel that does not start at zero")
        variables = tuple(
            (self.names.variable(each.loop_var), _size(each.extent, f"the range of `{each.loop_var.name}`"))
            for each in loops
        )
        stores = tuple(self._stores(loops[-1].body, ()))
        return Nest(variables, stores, location_of(loop) or stores[0].location)

    def _stores(self, node: Any, guards: tuple[Any, ...]) -> list[Store]:
        found = []
        for statement in flat(node):
            kind = type(statement).__name__
            if kind == "BufferStore":
                found.append(self._store(statement, guards))
            elif kind == "Bind":
                self._bind(statement)
            elif kind == "IfThenElse" and statement.else_case is None:
                condition = read_expression(self.names, statement.condition)
                found.extend(self._stores(statement.then_case, (*guards, condition)))
            else:
                raise UnsupportedFeatureError(f"{kind} inside T.Parallel has no word in tile programs")
        return found

    def _store(self, statement: Any, guards: tuple[Any, ...]) -> Store:
        indices = tuple(read_expression(self.names, index) for index in statement.indices)
        value = read_expression(self.names, statement.value)
        return Store(self.names.buffer(statement.buffer), indices, value, guards, location_of(statement))

    def _branch(self, statement: Any) -> list[Statement]:
        known = constant(statement.condition)
        if known is not None:
            taken = statement.then_case if known else statement.else_case
            return list(self.body(taken)) if taken is not None else []
        condition = read_expression(self.names, statement.condition)
        otherwise = self.body(statement.else_case) if statement.else_case is not None else ()
        return [Branch(condition, self.body(statement.then_case), otherwise, location_of(statement))]

    def _evaluate(self, statement: Any) -> list[Statement]:
        call = statement.value
        if type(call).__name__ != "Call":
            return []
        name = str(getattr(call.op, "name", call.op))
        if name in _NOTHING:
            return []
        if name not in _OPERATIONS:
            raise UnsupportedFeatureError(f"the operation {name} has no word in tile programs")
        return [_OPERATIONS[name](self, call, location_of(statement))]

    def box(self, argument: Any) -> Box:
        """The operand of a tile operation."""
        region = region_of(argument)
        name = self.names.buffer(region.buffer)
        extents = tuple(_size(extent, f"the extent of a part of `{name}`") for extent in region.extents)
        return Box(name, tuple(read_expression(self.names, o) for o in region.origin), extents)

    def copy(self, call: Call, location: Any) -> Statement:
        return Copy(self.box(call.args[0]), self.box(call.args[1]), location)

    def fill(self, call: Call, location: Any) -> Statement:
        return Fill(self.box(call.args[0]), read_expression(self.names, call.args[1]), location)

    def product(self, call: Call, location: Any) -> Statement:
        turned = [bool(constant(call.args[number])) for number in (3, 4)]
        clear = read_expression(self.names, call.args[9]) if len(call.args) > 9 else Number(False, "bool")
        a, b, target = (self.box(call.args[number]) for number in range(3))
        return Product(a, b, target, turned[0], turned[1], clear, location)

    def reduction(self, call: Call, location: Any) -> Statement:
        source, target = self.box(call.args[0]), self.box(call.args[1])
        dim = constant(call.args[3]) or 0
        return Reduction(
            source, target, str(call.args[2].value), dim % len(source.extents), bool(constant(call.args[4])), location
        )


_OPERATIONS: dict[str, Callable[[_Reader, Any, Any], Statement]] = {
    "tl.tileop.copy": _Reader.copy,
    "tl.tileop.fill": _Reader.fill,
    "tl.tileop.gemm": _Reader.product,
    "tl.tileop.reduce": _Reader.reduction,
}
