"""Reads the Python source of an eDSL function: its syntax tree, its places, and what it takes from around it."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

from tle_raw.errors import FragmentSourceError, SourceLocation

MISSING = object()


@dataclass(eq=False)
class Code:
    """One function: ``offset`` added to a line of the tree gives the line of the file."""

    function: Callable[..., Any]
    file: str
    offset: int
    lines: tuple[str, ...]
    tree: ast.FunctionDef
    names: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def text(self) -> str:
        return "".join(self.lines)

    @cached_property
    def facts(self) -> Facts:
        return Facts(self.tree)

    def location(self, node: ast.AST) -> tuple[str, int, int]:
        """File, line and column of a node."""
        found = self._locations.get(node)
        if found is None:
            found = self._locations[node] = (self.file, node.lineno + self.offset, self.column(node))  # type: ignore[attr-defined]
        return found

    @cached_property
    def _locations(self) -> dict[ast.AST, tuple[str, int, int]]:
        return {}

    def column(self, node: ast.AST) -> int:
        """The column of a node, counted from 1 in characters."""
        offset: int = node.col_offset  # type: ignore[attr-defined]
        line = self._tree_line(node.lineno)  # type: ignore[attr-defined]
        if not line.isascii():
            offset = len(line.encode()[:offset].decode(errors="replace"))
        return offset + 1

    def source_location(self, node: ast.AST | None) -> SourceLocation:
        if node is None or not hasattr(node, "lineno"):
            node = self.tree
        text = self._tree_line(node.lineno).rstrip()
        return SourceLocation(self.file, node.lineno + self.offset, self.column(node), text)

    def _tree_line(self, number: int) -> str:
        index = number - 1 - self._extra
        return self.lines[index] if 0 <= index < len(self.lines) else ""

    @cached_property
    def _extra(self) -> int:
        """The line that was put in front of an indented function."""
        return 1 if self.lines[0][:1].isspace() else 0

    @cached_property
    def locals(self) -> frozenset[str]:
        """The names that the function assigns, its parameters included."""
        return frozenset((*(a.arg for a in _all_arguments(self.tree.args)), *self.facts.assigned))

    @cached_property
    def body(self) -> list[ast.stmt]:
        """The statements without the docstring."""
        body = self.tree.body
        first = body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            return body[1:]
        return body

    def lookup(self, name: str) -> Any:
        """What a name means around the function, or ``MISSING``."""
        if name not in self.names:
            self.names[name] = _outer(self.function, name)
        return self.names[name]


class Facts:
    """What one look at a syntax tree tells: the names that are assigned, and which statements jump.

    ``stores`` are the names that a loop assigns, ``jumping`` the statements with a break, a continue or a return in
    them, ``paths`` the dotted names that are read.
    """

    def __init__(self, tree: ast.FunctionDef) -> None:
        self.stores: dict[ast.AST, dict[str, None]] = {}
        self.jumping: set[ast.AST] = set()
        self.paths: dict[tuple[str, ...], None] = {}
        self.assigned: dict[str, None] = {}
        for statement in tree.body:
            self._visit(statement, self.assigned)

    def _visit(self, node: ast.AST, stores: dict[str, None]) -> bool:
        """Whether a jump is in the node; its names go to ``stores``."""
        kind = type(node)
        if kind is ast.Name or kind is ast.Attribute:
            return self._visit_name(node, stores)  # type: ignore[arg-type]
        if kind is ast.Constant:
            return False
        is_loop = kind is ast.For or kind is ast.While
        own: dict[str, None] = {} if is_loop else stores
        jumps = kind is ast.Return or kind is ast.Break or kind is ast.Continue
        for name in node._fields:
            value = getattr(node, name)
            if isinstance(value, ast.AST):
                jumps |= self._visit(value, own)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        jumps |= self._visit(item, own)
        if is_loop:
            self.stores[node] = own
            stores.update(own)
        if jumps:
            self.jumping.add(node)
        return jumps

    def _visit_name(self, node: ast.Name | ast.Attribute, stores: dict[str, None]) -> bool:
        path: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            path.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            return self._visit(inner, stores)
        if isinstance(inner.ctx, ast.Store):
            stores[inner.id] = None
        else:
            self.paths[(inner.id, *reversed(path))] = None
        return False


def _all_arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (a for a in (arguments.vararg, arguments.kwarg) if a)


def _outer(function: Callable[..., Any], name: str) -> Any:
    code = function.__code__
    if name in code.co_freevars and function.__closure__:
        try:
            return function.__closure__[code.co_freevars.index(name)].cell_contents
        except ValueError:  # the cell is still empty
            return MISSING
    if name in function.__globals__:
        return function.__globals__[name]
    return getattr(builtins, name, MISSING)


def read_code(function: Callable[..., Any]) -> Code:
    """The syntax tree of a function.

    Raises
    ------
    FragmentSourceError : Python does not have its source, or it is no ``def``.
    """
    location = SourceLocation(function.__code__.co_filename, function.__code__.co_firstlineno)
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise FragmentSourceError(
            f"the source of `{function.__name__}` is not at hand: {error}",
            hint="write the function in a file, not in exec() or at the prompt",
        ).at(source=location) from error
    text = "".join(lines)
    indented = text[:1].isspace()
    try:
        module = ast.parse(f"if True:\n{text}" if indented else text)
    except SyntaxError as error:
        raise FragmentSourceError(f"the source of `{function.__name__}` cannot be read: {error.msg}").at(
            source=location
        ) from error
    tree: Any = module.body[0].body[0] if indented else module.body[0]  # type: ignore[attr-defined]
    if not isinstance(tree, ast.FunctionDef):
        kind = "an `async def`" if isinstance(tree, ast.AsyncFunctionDef) else "no `def`"
        raise FragmentSourceError(f"`{function.__name__}` is {kind}").at(source=location)
    return Code(function, location.file, first - 1 - indented, tuple(lines), tree)


def has_body(function: Callable[..., Any]) -> bool:
    """False for a stub, whose body is `...` after an optional docstring."""
    body = read_code(function).body
    return not (not body or (len(body) == 1 and _is_ellipsis(body[0])))


def _is_ellipsis(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is Ellipsis
    )


def outer_paths(code: Code) -> Iterator[tuple[str, Any]]:
    """Every dotted name that the function takes from around it, with what it means now."""
    for first, *rest in code.facts.paths:
        if first in code.locals:
            continue
        value = code.lookup(first)
        yield first, value
        path = first
        for attribute in rest:
            if value is MISSING:
                break
            value = getattr(value, attribute, MISSING) if not _has_descriptors(value) else MISSING
            path = f"{path}.{attribute}"
            yield path, value


def _has_descriptors(value: Any) -> bool:
    """Reading an attribute of these could run anything; of modules, classes and plain data it cannot."""
    return not isinstance(value, (ModuleType, type)) and hasattr(type(value), "__getattr__")
