"""Reads statements: assignments, `if`, `return`, `assert`; loops are next door."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from tle_raw.adapters.mlir.edsl import memory
from tle_raw.adapters.mlir.edsl.expressions import Expressions
from tle_raw.adapters.mlir.edsl.merging import Edge, Environment, as_type, filled, merge_environments, phis
from tle_raw.adapters.mlir.edsl.operators import SYMBOLS, binary
from tle_raw.adapters.mlir.edsl.outer import BindingObject, as_dtype
from tle_raw.adapters.mlir.edsl.printing import check
from tle_raw.adapters.mlir.edsl.values import EdslValue

NAMES = {
    "FunctionDef": "a function inside a function",
    "AsyncFunctionDef": "`async def`",
    "ClassDef": "a class",
    "Delete": "`del`",
    "Try": "`try`",
    "TryStar": "`try`",
    "Raise": "`raise`",
    "Import": "`import`",
    "ImportFrom": "`import`",
    "Global": "`global`",
    "Nonlocal": "`nonlocal`",
    "Match": "`match`",
    "AsyncFor": "`async for`",
    "AsyncWith": "`async with`",
    "TypeAlias": "`type`",
}
_HINTS = {
    "FunctionDef": "write it outside, with @tle_raw.mlir.function",
    "Raise": 'use assert condition, "message"',
    "Import": "import outside of the function",
    "ImportFrom": "import outside of the function",
}


class Statements(Expressions):
    """The part of the reader that runs through the statements of a function."""

    def __init__(self) -> None:
        super().__init__()
        self._runners: dict[type, Callable[[Any], None]] = {}

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """The statements in order; what stands behind a return, a break or a continue is not reached."""
        for statement in statements:
            if not self.frame.alive:
                return
            runner = self._runners.get(type(statement))
            if runner is None:
                kind = type(statement).__name__
                runner = self._runners[type(statement)] = getattr(self, f"_run_{kind.lower()}", self._refuse_statement)
            self.emit.node = statement
            runner(statement)

    def _refuse_statement(self, node: ast.stmt) -> None:
        kind = type(node).__name__
        self.emit.fail(
            f"{NAMES.get(kind, kind)} is not supported in the mlir dialect", hint=_HINTS.get(kind, ""), node=node
        )

    def _run_pass(self, node: ast.Pass) -> None:
        pass

    def _run_expr(self, node: ast.Expr) -> None:
        if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
            self.read(node.value)

    # --- assignments ---------------------------------------------------------------------------------------------

    def _run_assign(self, node: ast.Assign) -> None:
        value = self.read(node.value)
        for target in node.targets:
            self.assign(target, value)

    def _run_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            self.emit.fail("a declaration without a value", hint=f"write {ast.unparse(node.target)} = …")
        dtype = as_dtype(self.read(node.annotation))
        if dtype is None:
            self.emit.fail("the annotation of a variable is a dtype, for example f32", node=node.annotation)
        value = self.read(node.value)
        self.emit.node = node
        self.assign(node.target, self.emit.convert(value, dtype))

    def _run_augassign(self, node: ast.AugAssign) -> None:
        symbol, target = SYMBOLS[type(node.op)], node.target
        if isinstance(target, ast.Name):
            old = self._name(target)
            value = self.read(node.value)
            self.emit.node = node
            self.assign_name(target.id, binary(self.emit, symbol, old, value))
        elif isinstance(target, ast.Subscript):
            self._augment_element(node, target, symbol)
        else:
            self._refuse_target(target)

    def _augment_element(self, node: ast.AugAssign, target: ast.Subscript, symbol: str) -> None:
        base, indices = self.read(target.value), self.read_indices(target.slice)
        self.emit.node = target
        if not (isinstance(base, EdslValue) and hasattr(base.type, "writable")):
            old = memory.load(self.emit, base, indices)
            value = binary(self.emit, symbol, old, self.read(node.value))
            memory.store(self.emit, base, indices, value)
            return
        memory.check_writable(self.emit, base)
        pointer = memory.address(self.emit, base, indices)
        old = memory.load_from(self.emit, pointer)
        value = self.read(node.value)
        self.emit.node = node
        memory.store_to(self.emit, pointer, binary(self.emit, symbol, old, value))

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.emit.node = target
            self.assign_name(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        elif isinstance(target, ast.Subscript):
            base, indices = self.read(target.value), self.read_indices(target.slice)
            self.emit.node = target
            if isinstance(base, tuple):
                self.emit.fail("the items of a tuple cannot be assigned", hint="make a new tuple")
            memory.store(self.emit, base, indices, value)
        else:
            self._refuse_target(target)

    def assign_name(self, name: str, value: Any) -> None:
        if name in self.frame.constants:
            self.emit.fail(f"`{name}` is a constant of the signature: it cannot be assigned", hint="use another name")
        if name in self.frame.fixed:
            self.emit.fail(f"`{name}` is a tile: its elements can be assigned, the name cannot", hint=f"{name}[i] = …")
        self.frame.environment[name] = value

    def _unpack(self, target: ast.Tuple | ast.List, value: Any) -> None:
        self.emit.node = target
        if isinstance(value, BindingObject):
            value = value.items(self.emit)
        if not isinstance(value, tuple):
            self.emit.mismatch("only a tuple can be unpacked", f"a tuple of {len(target.elts)}", value)
        if any(isinstance(t, ast.Starred) for t in target.elts):
            self.emit.fail("a starred name in an assignment is not supported in the mlir dialect")
        if len(value) != len(target.elts):
            self.emit.mismatch(
                "the number of names and of values differ",
                f"{len(target.elts)} values",
                f"{len(value)} values",
                "values",
            )
        for element, item in zip(target.elts, value):
            self.assign(element, item)

    def _refuse_target(self, target: ast.expr) -> None:
        kind = "an attribute" if isinstance(target, ast.Attribute) else type(target).__name__
        self.emit.fail(f"{kind} cannot be assigned in the mlir dialect", node=target)

    # --- paths -----------------------------------------------------------------------------------------------------

    def jumps(self, node: ast.stmt) -> bool:
        """Whether the statement holds a break, a continue or a return: then it is made of blocks, not of regions."""
        return node in self.frame.code.facts.jumping

    def _run_if(self, node: ast.If) -> None:
        test = self.read(node.test)
        self.emit.node = node.test
        if not isinstance(test, EdslValue):
            if isinstance(test, BindingObject):
                self.emit.mismatch("this is neither true nor false", "a bool or a number", test)
            self.run(node.body if test else node.orelse)
            return
        condition = self.emit.truth(test)
        if self.jumps(node):
            self._branch(node, condition)
        else:
            self._structured_if(node, condition)

    def _structured_if(self, node: ast.If, condition: EdslValue) -> None:
        emit, builder, frame = self.emit, self.emit.builder, self.frame
        before = frame.environment
        regions, blocks, environments = [], [], []
        for side in (node.body, node.orelse):
            regions.append(builder.region())
            frame.environment = dict(before)
            if side:
                blocks.append(builder.block(regions[-1]))
                with builder.inside(blocks[-1]):
                    self.run(side)
            environments.append(frame.environment)
        emit.node = node
        frame.environment = merge_environments(environments, emit.location)
        found = [phi for entry in frame.environment.values() for phi in phis(entry)]
        if found and not node.orelse:
            blocks.append(builder.block(regions[1]))
        for index, block in enumerate(blocks):
            with builder.inside(block):
                builder.create("scf.yield", [as_type(emit, phi.entries[index], phi.type).handle for phi in found])
        results = builder.create("scf.if", [condition.handle], [phi.type.mlir for phi in found], None, regions)
        for phi, handle in zip(found, results):
            phi.value = EdslValue(handle, phi.type)
        self._fill(frame.environment)

    def _fill(self, environment: Environment) -> None:
        for name, entry in environment.items():
            environment[name] = filled(entry)

    def _branch(self, node: ast.If, condition: EdslValue) -> None:
        """An `if` from which a path jumps: each side is a block."""
        builder, frame = self.emit.builder, self.frame
        before, ends = frame.environment, []
        sides = [builder.block(frame.region), builder.block(frame.region)]
        self.cond_br(condition, *sides)
        for block, statements in zip(sides, (node.body, node.orelse)):
            builder.move_to(block)
            frame.environment, frame.alive = dict(before), True
            self.run(statements)
            self.emit.node = node
            if frame.alive:
                ends.append(self.edge())
        self.join(ends)

    def edge(self, value: Any = None) -> Edge:
        """The path that ends here."""
        return Edge(self.emit.builder.current, dict(self.frame.environment), self.emit.location, value)

    def join(self, edges: Sequence[Edge]) -> None:
        """Go on where these paths meet."""
        frame, builder = self.frame, self.emit.builder
        frame.alive = bool(edges)
        if not edges:
            return
        frame.environment = merge_environments([e.environment for e in edges], self.emit.location)
        self.meet(edges, [phi for entry in frame.environment.values() for phi in phis(entry)])
        self._fill(frame.environment)
        assert builder.current is not None

    def meet(self, edges: Sequence[Edge], found: Sequence[Any]) -> None:
        """A new block to which the paths bring the values of the phis; with one path its own block goes on."""
        builder, emit = self.emit.builder, self.emit
        if len(edges) == 1:
            builder.move_to(edges[0].block)
            return
        block = builder.block(self.frame.region, [phi.type.mlir for phi in found])
        for index, edge in enumerate(edges):
            with builder.inside(edge.block):
                values = [as_type(emit, phi.entries[index], phi.type).handle for phi in found]
                builder.create("cf.br", values, (), None, (), (block,))
        for phi, handle in zip(found, builder.arguments(block)):
            phi.value = EdslValue(handle, phi.type)
        builder.move_to(block)

    def cond_br(self, condition: EdslValue, one: Any, other: Any) -> None:
        self.emit.builder.create(
            "cf.cond_br",
            [condition.handle],
            (),
            {"operandSegmentSizes": "array<i32: 1, 0, 0>"},
            (),
            (one, other),
        )

    def _run_return(self, node: ast.Return) -> None:
        value = self.read(node.value) if node.value is not None else None
        self.emit.node = node
        self.return_value(value)

    def return_value(self, value: Any) -> None:
        """End a path of the function with what it returns."""
        self.frame.returns.append(self.edge(self.frame.returned(value)))
        self.frame.alive = False

    def _run_break(self, node: ast.Break) -> None:
        self.frame.loops[-1].breaks.append(self.edge())
        self.frame.alive = False

    def _run_continue(self, node: ast.Continue) -> None:
        self.frame.loops[-1].continues.append(self.edge())
        self.frame.alive = False

    def _run_assert(self, node: ast.Assert) -> None:
        test = self.read(node.test)
        message = self.read(node.msg) if node.msg else ast.unparse(node.test)
        self.emit.node = node
        if not isinstance(message, str):
            self.emit.mismatch("the message of an assert is a constant string", "a string", message)
        if not isinstance(test, EdslValue):
            if not test:
                self.emit.fail(f"the assertion can never hold: {message}")
            return
        check(self.emit, self.emit.truth(test), message, self.frame.code.name)

    def _run_with(self, node: ast.With) -> None:
        """A context manager of the binding, such as ``ir.InsertionPoint(block)``."""
        if self.jumps(node):
            self.emit.fail("a jump out of `with` is not supported in the mlir dialect")
        # An error must leave them, too: the binding keeps a stack of its own, which the builder's part lies below.
        with ExitStack() as managers:
            for item in node.items:
                entered = self._enter_manager(item, managers)
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, entered)
            self.run(node.body)

    def _enter_manager(self, item: ast.withitem, managers: ExitStack) -> Any:
        manager = self.read(item.context_expr)
        self.emit.node = item.context_expr
        if not isinstance(manager, BindingObject):
            self.emit.mismatch("`with` takes a context manager of the MLIR bindings", "one of them", manager)
        entered = manager.enter(self.emit)
        managers.callback(manager.exit, self.emit)
        return entered
