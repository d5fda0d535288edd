"""Which functions of a module built kernels while its main part ran, and from which arguments."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from tle_raw.adapters.tilelang import objects
from tle_raw.adapters.tilelang.port.capture import JitCall


@dataclass(frozen=True)
class BuilderCall:
    """``name`` is the function's in the module; ``made`` the PrimFunc, or the kernel that holds it.

    ``is_eager`` : it was called with tensors, whose shapes are its arguments.
    """

    name: str
    function: Any
    arguments: Mapping[str, Any]
    made: Any
    is_eager: bool = False


@dataclass
class Recorded:
    """``own`` are calls of plain functions; those of ``@tilelang.jit`` functions are told by the capture."""

    module: ModuleType
    own: list[BuilderCall] = field(default_factory=list)

    def all_calls(self, jit_calls: Sequence[JitCall]) -> tuple[BuilderCall, ...]:
        """With those of jit functions that the module holds."""
        names = {id(getattr(v, "jit_impl", v)): n for n, v in reversed(list(vars(self.module).items()))}
        found = []
        for call in jit_calls:
            name = names.get(id(call.function))
            arguments = bound_arguments(call.function.signature, call.arguments, call.keywords)
            if name is not None and arguments is not None:
                is_eager = bool(getattr(call.function.func, "tensor_args", None))
                found.append(BuilderCall(name, call.function, arguments, call.compiled, is_eager))
        return (*self.own, *found)


@contextmanager
def recorded_builders(module: ModuleType) -> Iterator[Recorded]:
    """The module's functions that hold a PrimFunc tell of their calls, under the names that its own code uses."""
    recorded = Recorded(module)
    originals = {name: value for name, value in vars(module).items() if is_builder(value)}
    for name, function in originals.items():
        setattr(module, name, _recording(recorded, name, function))
    try:
        yield recorded
    finally:
        for name, function in originals.items():
            setattr(module, name, function)


def _recording(recorded: Recorded, name: str, function: Any) -> Any:
    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        made = function(*arguments, **keywords)
        bound = bound_arguments(inspect.signature(function), arguments, keywords)
        if objects.is_tilelang_object(made) and bound is not None:
            recorded.own.append(BuilderCall(name, function, bound, made))
        return made

    return call


def bound_arguments(
    signature: inspect.Signature, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> dict[str, Any] | None:
    """By name; None where they do not fit, or where some have no name."""
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError:
        return None
    kinds = {name: parameter.kind for name, parameter in signature.parameters.items()}
    if any(kinds[name] is inspect.Parameter.VAR_POSITIONAL for name in bound.arguments):
        return None
    found: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        found.update(value if kinds[name] is inspect.Parameter.VAR_KEYWORD else {name: value})
    return found


def is_builder(value: Any) -> bool:
    """A plain function whose source holds a PrimFunc and gives something back."""
    if not inspect.isfunction(inspect.unwrap(value) if callable(value) else value) or objects.is_tilelang_object(value):
        return False
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(value))))
    except (OSError, TypeError, SyntaxError, IndentationError):
        return False
    return any(isinstance(node, ast.FunctionDef) and holds_prim_func(node) for node in tree.body)


def holds_prim_func(function: ast.FunctionDef) -> bool:
    """A function inside is decorated with ``prim_func``, under whatever name of its module, and something returned."""
    inner = [node for node in ast.walk(function) if isinstance(node, ast.FunctionDef) and node is not function]
    decorated = any(last_name(decorator) == "prim_func" for node in inner for decorator in node.decorator_list)
    return decorated and any(isinstance(node, ast.Return) and node.value for node in _own_nodes(function))


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Without those of functions inside."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield child
            yield from _own_nodes(child)


def last_name(decorator: ast.expr) -> str:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
