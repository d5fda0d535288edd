"""Reads expressions: what Python can compute is a constant, the rest becomes values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tle_raw.adapters.mlir.edsl import memory
from tle_raw.adapters.mlir.edsl.binding_builder import BindingBuilder
from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.frames import Frame
from tle_raw.adapters.mlir.edsl.merging import as_type, filled, merge, phis
from tle_raw.adapters.mlir.edsl.operators import SYMBOLS, binary, unary
from tle_raw.adapters.mlir.edsl.outer import BindingObject, as_dtype, outer_value, wrapped
from tle_raw.adapters.mlir.edsl.source import MISSING
from tle_raw.adapters.mlir.edsl.types import BOOL, INDEX, Number, PointerType, TileType, Vector
from tle_raw.adapters.mlir.edsl.values import Conflict, EdslValue, StaticList, Undefined, describe, is_literal
from tle_raw.errors import Row
from tle_raw.near_names import did_you_mean

NAMES = {
    "Lambda": "a lambda",
    "ListComp": "a list comprehension",
    "SetComp": "a set comprehension",
    "DictComp": "a dict comprehension",
    "GeneratorExp": "a generator expression",
    "Dict": "a dict",
    "Set": "a set",
    "Await": "`await`",
    "Yield": "`yield`",
    "YieldFrom": "`yield from`",
    "JoinedStr": "an f-string",
    "Slice": "a slice",
    "Starred": "a starred expression",
}
_HINTS = {
    "JoinedStr": 'use printf("x = %f\\n", x)',
    "Lambda": "write a function with @tle_raw.mlir.function",
    "ListComp": "write a loop",
    "Slice": "index single elements, in a loop",
}


class Method:
    """``x.to``: a method of a value, before it is called."""

    def __init__(self, name: str, value: EdslValue) -> None:
        self.__name__ = name
        self.value = value


class Expressions:
    """The part of the reader that gives each expression its value."""

    emit: Emitter
    frame: Frame

    def __init__(self) -> None:
        self._readers: dict[type, Callable[[Any], Any]] = {}
        self._guarded = 0  # conditional expressions around: an assignment there would be lost

    def read(self, node: ast.expr) -> Any:
        """The value of an expression: a :class:`Value`, or a constant of Python."""
        reader = self._readers.get(type(node))
        if reader is None:
            kind = type(node).__name__
            reader = self._readers[type(node)] = getattr(self, f"_{kind.lower()}", self._unsupported)
        self.emit.node = node
        return reader(node)

    def _unsupported(self, node: ast.AST) -> Any:
        kind = type(node).__name__
        name = NAMES.get(kind, kind)
        self.emit.fail(f"{name} is not supported in the mlir dialect", hint=_HINTS.get(kind, ""), node=node)

    # --- names and constants -----------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, (bool, int, float, str)) or node.value is None:
            return node.value
        return self.emit.fail(f"the constant {node.value!r} is not supported in the mlir dialect")

    def _name(self, node: ast.Name) -> Any:
        name, frame = node.id, self.frame
        if name in frame.environment:
            entry = frame.environment[name]
            if isinstance(entry, (Undefined, Conflict)):
                self._no_value(entry)
            return entry
        if name in frame.code.locals and name not in frame.constants:
            self.emit.fail(f"`{name}` is used before it is assigned")
        if name in frame.constants:
            return frame.constants[name]
        value = frame.code.lookup(name)
        if value is MISSING:
            near = did_you_mean(name, [*frame.environment, *frame.constants], quote="`")
            self.emit.fail(f"the name `{name}` is not defined", hint=near)
        return outer_value(self.emit, name, value)

    def _no_value(self, entry: Undefined | Conflict) -> None:
        line = f"line {entry.location.line}"
        if isinstance(entry, Undefined):
            self.emit.fail(
                f"`{entry.name}` has no value on some path to here",
                [Row(entry.name, "a value", f"{entry.why} ({line})")],
                f"assign `{entry.name}` before",
            )
        self.emit.fail(
            f"`{entry.name}` has another type on another path to here",
            [Row(f"`{entry.name}` after {line}", entry.one, entry.other)],
            "convert one of them, or use two names",
        )

    def _attribute(self, node: ast.Attribute) -> Any:
        base = self.read(node.value)
        self.emit.node = node
        name = node.attr
        if isinstance(base, EdslValue):
            return self._value_attribute(base, name)
        if isinstance(base, BindingObject):
            return base.attribute(self.emit, name)
        if isinstance(base, ModuleType) or not isinstance(base, (tuple, str, bool, int, float, type(None), Number)):
            found = getattr(base, name, MISSING)
            if found is MISSING:
                return self.emit.fail(f"{describe(base)} has no attribute `{name}`")
            return outer_value(self.emit, name, found)
        if isinstance(base, Number) and name in ("bits", "itemsize", "name"):
            return getattr(base, name)
        return self.emit.fail(f"{describe(base)} has no attribute `{name}`")

    def _value_attribute(self, value: EdslValue, name: str) -> Any:
        type_ = value.type
        if isinstance(type_, TileType):
            found = {
                "shape": type_.dims,
                "dtype": type_.element,
                "size": type_.size,
                "ndim": len(type_.dims),
                "flat": EdslValue(value.handle, TileType(type_.element, (type_.size,), type_.writable)),
                "pointer": EdslValue(value.handle, PointerType(type_.element, 3, type_.writable)),
            }.get(name)
            if found is not None:
                return found
        if isinstance(type_, Vector) and name in ("shape", "dtype", "size"):
            return {"shape": (type_.length,), "dtype": type_.element, "size": type_.length}[name]
        if name == "dtype" and isinstance(type_, Number):
            return type_
        if name == "dtype" and isinstance(type_, PointerType) and type_.element:
            return type_.element
        if name in ("to", "bitcast"):
            return Method(name, value)
        if name in ("type", "owner") and isinstance(self.emit.builder, BindingBuilder):
            return wrapped(self.emit, getattr(value.handle, name))
        return self.emit.fail(f"a {describe(value)} has no attribute `{name}`")

    def _tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self._items(node.elts))

    def _list(self, node: ast.List) -> StaticList:
        return StaticList(self._items(node.elts))

    def _items(self, nodes: list[ast.expr]) -> list[Any]:
        items: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                spread = self.read(node.value)
                if not isinstance(spread, tuple):
                    self.emit.mismatch("only a tuple can be spread", "a tuple", spread)
                items.extend(spread)
            else:
                items.append(self.read(node))
        return items

    # --- operators -----------------------------------------------------------------------------------------------

    def _binop(self, node: ast.BinOp) -> Any:
        left, right = self.read(node.left), self.read(node.right)
        self.emit.node = node
        return binary(self.emit, SYMBOLS[type(node.op)], left, right)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        operand = self.read(node.operand)
        self.emit.node = node
        if not isinstance(node.op, ast.Not):
            return unary(self.emit, SYMBOLS[type(node.op)], operand)
        if not isinstance(operand, EdslValue):
            return not operand
        return self.emit.negate_bool(self.emit.truth(operand))

    def _compare(self, node: ast.Compare) -> Any:
        return self._compared(node, self.read(node.left), 0)

    def _compared(self, node: ast.Compare, left: Any, position: int) -> Any:
        """``a < b < c``: c is read only if a < b, unless reading it does nothing."""
        right = self.read(node.comparators[position])
        self.emit.node = node
        result = self._compare_two(node.ops[position], left, right)
        if position + 1 == len(node.ops):
            return result
        if not isinstance(result, EdslValue):
            return self._compared(node, right, position + 1) if result else result
        if all(is_simple(n) for n in node.comparators[position + 1 :]):
            rest = self._compared(node, right, position + 1)
            return self.emit.op("arith.andi", (result, self.emit.truth(rest)), BOOL)
        return self.conditional(result, lambda: self._compared(node, right, position + 1), lambda: False)

    def _compare_two(self, operator: ast.cmpop, left: Any, right: Any) -> Any:
        if isinstance(operator, (ast.Is, ast.IsNot)):
            if left is not None and right is not None:
                self.emit.fail("`is` compares with None only", hint="use ==")
            same = left is None and right is None
            return same if isinstance(operator, ast.Is) else not same
        if isinstance(operator, (ast.In, ast.NotIn)):
            return self._contained(left, right, isinstance(operator, ast.NotIn))
        if isinstance(left, Number) or isinstance(right, Number):
            return self._compare_dtypes(operator, left, right)
        return binary(self.emit, SYMBOLS[type(operator)], left, right)

    def _contained(self, left: Any, right: Any, negated: bool) -> Any:
        if not isinstance(right, tuple):
            self.emit.mismatch("`in` looks into tuples only", "a tuple", right)
        result: Any = False
        for item in right:
            equal = self._compare_two(ast.Eq(), left, item)
            if not isinstance(equal, EdslValue) and not isinstance(result, EdslValue):
                result = result or equal
            else:
                result = self.emit.op("arith.ori", (self.emit.truth(result), self.emit.truth(equal)), BOOL)
        if not negated:
            return result
        return self.emit.negate_bool(result) if isinstance(result, EdslValue) else not result

    def _compare_dtypes(self, operator: ast.cmpop, left: Any, right: Any) -> bool:
        one, other = as_dtype(left), as_dtype(right)
        if one is None or other is None or not isinstance(operator, (ast.Eq, ast.NotEq)):
            self.emit.fail("dtypes are compared with dtypes, by == and !=")
        return (one is other) == isinstance(operator, ast.Eq)

    def _boolop(self, node: ast.BoolOp) -> Any:
        return self._chain(node, 0)

    def _chain(self, node: ast.BoolOp, position: int) -> Any:
        """``a and b`` is b where a is true, else a: as in Python, b is read only when it is needed."""
        is_and = isinstance(node.op, ast.And)
        left = self.read(node.values[position])
        if position + 1 == len(node.values):
            return left
        if not isinstance(left, EdslValue):
            return self._chain(node, position + 1) if bool(left) is is_and else left
        self.emit.node = node
        condition = self.emit.truth(left)
        rest = node.values[position + 1 :]
        if left.type is BOOL and all(is_simple(n) for n in rest):
            right = self._chain(node, position + 1)
            self.emit.node = node
            if (isinstance(right, EdslValue) and right.type is BOOL) or isinstance(right, bool):
                name = "arith.andi" if is_and else "arith.ori"
                return self.emit.op(name, (condition, self.emit.truth(right)), BOOL)
            return self._merged_select(condition, right if is_and else left, left if is_and else right)
        if is_and:
            return self.conditional(condition, lambda: self._chain(node, position + 1), lambda: left)
        return self.conditional(condition, lambda: left, lambda: self._chain(node, position + 1))

    def _ifexp(self, node: ast.IfExp) -> Any:
        test = self.read(node.test)
        self.emit.node = node
        if not isinstance(test, EdslValue):
            return self.read(node.body if test else node.orelse)
        condition = self.emit.truth(test)
        if is_simple(node.body) and is_simple(node.orelse):
            one, other = self.read(node.body), self.read(node.orelse)
            self.emit.node = node
            return self._merged_select(condition, one, other)
        return self.conditional(condition, lambda: self.read(node.body), lambda: self.read(node.orelse))

    def _merged_select(self, condition: EdslValue, one: Any, other: Any) -> Any:
        merged = self._merged(one, other)
        for phi in phis(merged):
            first, second = (as_type(self.emit, entry, phi.type) for entry in phi.entries)
            phi.value = self.emit.select(condition, first, second)
        return filled(merged)

    def _merged(self, one: Any, other: Any) -> Any:
        merged = merge("", [one, other], self.emit.location, promoting=True)
        self._check_merged(merged)
        return merged

    def _check_merged(self, merged: Any) -> None:
        for item in merged if isinstance(merged, tuple) else (merged,):
            if isinstance(item, Conflict):
                self.emit.fail(
                    "the two sides do not fit together", [Row("type", item.one, item.other)], "convert one of them"
                )

    def conditional(self, condition: EdslValue, one: Callable[[], Any], other: Callable[[], Any]) -> Any:
        """``one() if condition else other()`` in which only one of them runs."""
        emit, builder, node = self.emit, self.emit.builder, self.emit.node
        regions, blocks, entries = [], [], []
        self._guarded += 1
        for side in (one, other):
            regions.append(builder.region())
            blocks.append(builder.block(regions[-1]))
            with builder.inside(blocks[-1]):
                entries.append(side())
        self._guarded -= 1
        assert node is not None
        emit.node = node
        merged = self._merged(*entries)
        found = list(phis(merged))
        for index, block in enumerate(blocks):
            with builder.inside(block):
                values = [as_type(emit, phi.entries[index], phi.type).handle for phi in found]
                builder.create("scf.yield", values)
        results = builder.create("scf.if", [condition.handle], [phi.type.mlir for phi in found], None, regions)
        for phi, handle in zip(found, results):
            phi.value = EdslValue(handle, phi.type)
        return filled(merged)

    def _namedexpr(self, node: ast.NamedExpr) -> Any:
        value = self.read(node.value)
        self.emit.node = node
        if self._guarded:
            self.emit.fail("`:=` inside a conditional expression is not supported", hint="assign it before")
        self.assign_name(node.target.id, value)
        return value

    def assign_name(self, name: str, value: Any) -> None:
        raise NotImplementedError

    # --- elements ------------------------------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript) -> Any:
        base = self.read(node.value)
        indices = self.read_indices(node.slice)
        self.emit.node = node
        if isinstance(base, tuple):
            return self._item(base, indices)
        if isinstance(base, BindingObject):
            return base.item(self.emit, indices)
        return memory.load(self.emit, base, indices)

    def read_indices(self, node: ast.expr) -> tuple[Any, ...]:
        index = self.read(node)
        return tuple(index) if isinstance(index, tuple) else (index,)

    def _item(self, items: tuple[Any, ...], indices: tuple[Any, ...]) -> Any:
        (index,) = indices if len(indices) == 1 else (None,)
        if not isinstance(index, int) or isinstance(index, bool):
            self.emit.mismatch("a tuple takes one constant index", "a constant integer", index)
        if not -len(items) <= index < len(items):
            self.emit.mismatch(
                "the index is outside the tuple", f"{-len(items)} to {len(items) - 1}", repr(index), "index"
            )
        return items[index]

    def as_index(self, value: EdslValue) -> EdslValue:
        """An integer for an operation of MLIR that indexes."""
        return self.emit.convert(value, INDEX)


def is_simple(node: ast.expr) -> bool:
    """Reading it has no effect and costs next to nothing, so that it need not be guarded by a branch."""
    if isinstance(node, (ast.Name, ast.Constant)):
        return True
    if isinstance(node, ast.UnaryOp):
        return is_simple(node.operand)
    if isinstance(node, ast.BinOp):
        cheap = not isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow))
        return (cheap or is_constant(node.right)) and is_simple(node.left) and is_simple(node.right)
    if isinstance(node, ast.Compare):
        return is_simple(node.left) and all(is_simple(n) for n in node.comparators)
    if isinstance(node, ast.BoolOp):
        return all(is_simple(n) for n in node.values)
    return False


def is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and is_literal(node.value)
