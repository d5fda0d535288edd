"""Reads calls: of the language, of Python, of the MLIR bindings, and of other eDSL functions, which are inlined."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import ModuleType
from typing import Any

from tle_raw.adapters.mlir.edsl import mathematics
from tle_raw.adapters.mlir.edsl.expressions import Method
from tle_raw.adapters.mlir.edsl.frames import Frame
from tle_raw.adapters.mlir.edsl.intrinsics import Function, Intrinsic
from tle_raw.adapters.mlir.edsl.loops import Loops
from tle_raw.adapters.mlir.edsl.merging import filled, merge, phis
from tle_raw.adapters.mlir.edsl.operators import binary, minimum_or_maximum
from tle_raw.adapters.mlir.edsl.outer import BindingObject, as_dtype
from tle_raw.adapters.mlir.edsl.printing import print_values
from tle_raw.adapters.mlir.edsl.ranges import Range, make_range
from tle_raw.adapters.mlir.edsl.source import MISSING, Code, read_code
from tle_raw.adapters.mlir.edsl.types import F32, I32, Number, TileType, Vector
from tle_raw.adapters.mlir.edsl.values import Conflict, EdslValue, StaticList, Undefined, describe, is_literal
from tle_raw.errors import Row, TLEError


class Calls(Loops):
    """The part of the reader that reads calls."""

    def __init__(self) -> None:
        super().__init__()
        self._codes: dict[int, Code] = {}
        self._inlining: list[Callable[..., Any]] = []
        self._builtins: dict[Any, Callable[..., Any]] = {
            builtins.range: self._range,
            builtins.len: self._len,
            builtins.min: lambda *items: self._extreme(items, False),
            builtins.max: lambda *items: self._extreme(items, True),
            builtins.abs: lambda x: mathematics.absolute(self.emit, x),
            builtins.int: self._int,
            builtins.float: lambda x=0.0: self._cast(x, F32, float),
            builtins.bool: lambda x=False: self.emit.truth(x) if isinstance(x, EdslValue) else bool(x),
            builtins.round: lambda x: mathematics.apply(self.emit, "round", (x,)),
            builtins.pow: lambda x, y: binary(self.emit, "**", x, y),
            builtins.divmod: lambda x, y: (binary(self.emit, "//", x, y), binary(self.emit, "%", x, y)),
            builtins.sum: self._sum,
            builtins.tuple: self._tuple_of,
            builtins.list: lambda x=(): StaticList(self._tuple_of(x)),
            builtins.enumerate: lambda x, start=0: tuple(enumerate(self._tuple_of(x), start)),
            builtins.zip: lambda *x: tuple(zip(*map(self._tuple_of, x))),
            builtins.reversed: lambda x: self._tuple_of(x)[::-1],
            builtins.print: self._print,
        }

    def _call(self, node: ast.Call) -> Any:
        called = self.read(node.func)
        args = tuple(self._items(node.args))
        keywords = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                self.emit.fail("`**` in a call is not supported in the mlir dialect", node=keyword.value)
            keywords[keyword.arg] = self.read(keyword.value)
        self.emit.node = node
        return self.call(called, args, keywords)

    def call(self, called: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if isinstance(called, Intrinsic):
            self._check_arguments(called.__signature__, called.__name__, args, keywords)
            return called.emit(self.emit, *args, **keywords)
        if isinstance(called, BindingObject):
            return called.call(self.emit, args, keywords)
        if isinstance(called, Method):
            return self._method(called, args, keywords)
        if isinstance(called, Number):
            return self._dtype(called, args, keywords)
        function = edsl_function(called)
        if function is not None:
            return self._inline(function, args, keywords)
        known = self._known(called)
        if known is not None:
            self._check_arguments(_signature(known), called.__name__, args, keywords)
            return known(*args, **keywords)
        if getattr(called, "__module__", "") in ("math", "cmath") and not keywords:
            return self._math(called, args)
        return self._refuse_call(called)

    def _known(self, called: Any) -> Callable[..., Any] | None:
        return self._builtins.get(called) if isinstance(called, Hashable) else None

    def _refuse_call(self, called: Any) -> Any:
        name = getattr(called, "__name__", type(called).__name__)
        if inspect.isfunction(called):
            place = f"{called.__code__.co_filename}:{called.__code__.co_firstlineno}"
            self.emit.fail(
                f"`{name}` is an ordinary Python function: device code cannot call it",
                [Row(name, "a function of the mlir dialect", f"a Python function ({place})")],
                f"decorate `{name}` with @tle_raw.mlir.function",
            )
        self.emit.mismatch(f"{describe(called)} cannot be called in the mlir dialect", "a function", called)

    def _check_arguments(
        self, signature: inspect.Signature, name: str, args: Sequence[Any], keywords: Mapping[str, Any]
    ) -> None:
        if not keywords and _takes(signature, len(args)):
            return
        try:
            signature.bind(*args, **keywords)
        except TypeError as error:
            self.emit.fail(f"`{name}`: {error}", hint=f"it is called as {name}{_plain(signature)}")

    # --- functions of Python -----------------------------------------------------------------------------------

    def _math(self, called: Any, args: tuple[Any, ...]) -> Any:
        name = called.__name__
        if name in mathematics.NAMES:
            return mathematics.apply(self.emit, name, args)
        constant: Any = getattr(math, name, None)
        if all(is_literal(a) for a in args) and constant is called:
            try:
                return constant(*args)
            except (ArithmeticError, ValueError, TypeError) as error:
                self.emit.fail(f"`math.{name}` fails: {error}")
        return self.emit.fail(
            f"`math.{name}` has no counterpart in device code", hint=f"there are {', '.join(mathematics.NAMES)}"
        )

    def _range(self, *bounds: Any) -> Range:
        return make_range(self.emit, bounds, unrolled=False)

    def _len(self, items: Any) -> int:
        if isinstance(items, tuple):
            return len(items)
        if isinstance(items, str):
            return len(items)
        if isinstance(items, EdslValue) and isinstance(items.type, TileType):
            return items.type.dims[0]
        if isinstance(items, EdslValue) and isinstance(items.type, Vector):
            return items.type.length
        return self.emit.mismatch("this has no length", "a tile or a tuple", items)

    def _extreme(self, items: tuple[Any, ...], larger: bool) -> Any:
        if len(items) == 1:
            items = self._tuple_of(items[0])
        if not items:
            self.emit.fail("min and max take at least one number")
        result = items[0]
        for item in items[1:]:
            result = minimum_or_maximum(self.emit, result, item, larger)
        return result

    def _int(self, given: Any = 0) -> Any:
        if isinstance(given, EdslValue) and isinstance(given.type, Number) and given.type.is_integer:
            return given
        return self._cast(given, I32, int)

    def _cast(self, given: Any, type_: Number, python: Callable[[Any], Any]) -> Any:
        if is_literal(given):
            try:
                return python(given)
            except (ValueError, OverflowError) as error:
                self.emit.fail(f"the constant cannot be converted: {error}")
        if (
            isinstance(given, EdslValue)
            and type_ is F32
            and isinstance(given.type, Number)
            and given.type.name == "f64"
        ):
            return given
        return self.emit.convert(given, type_)

    def _sum(self, items: Any, start: Any = 0) -> Any:
        for item in self._tuple_of(items):
            start = binary(self.emit, "+", start, item)
        return start

    def _tuple_of(self, items: Any) -> tuple[Any, ...]:
        if isinstance(items, Range) and all(isinstance(v, int) for v in (items.start, items.stop, items.step)):
            return tuple(self._static_items(items))
        if not isinstance(items, tuple):
            self.emit.mismatch("this is no tuple", "a tuple", items)
        return tuple(items)

    def _print(self, *items: Any, sep: str = " ", end: str = "\n") -> None:
        print_values(self.emit, items, sep, end)

    # --- values ------------------------------------------------------------------------------------------------

    def _dtype(self, type_: Number, args: tuple[Any, ...], keywords: dict[str, Any]) -> EdslValue:
        if len(args) != 1 or keywords:
            self.emit.mismatch(f"{type_}(…) takes one value", "1", str(len(args) + len(keywords)), "arguments")
        if is_literal(args[0]) and isinstance(args[0], (int, float)) and type_.is_integer and int(args[0]) == args[0]:
            return self.emit.constant(int(args[0]), type_)
        return self.emit.convert(args[0], type_)

    def _method(self, method: Method, args: tuple[Any, ...], keywords: dict[str, Any]) -> EdslValue:
        if len(args) != 1 or keywords:
            self.emit.mismatch(f"`{method.__name__}` takes one dtype", "1", str(len(args) + len(keywords)), "arguments")
        dtype = as_dtype(args[0])
        if dtype is None:
            self.emit.mismatch("this is no dtype", "a dtype, for example f32", args[0])
        if method.__name__ == "to":
            return self.emit.convert(method.value, dtype)
        return self.emit.reinterpret(method.value, dtype)

    # --- eDSL functions ------------------------------------------------------------------------------------------

    def code_of(self, function: Callable[..., Any]) -> Code:
        code = self._codes.get(id(function))
        if code is None:
            try:
                code = self._codes[id(function)] = read_code(function)
            except TLEError as error:
                self.emit.fail(error.message, hint=error.hint)
        return code

    def _inline(self, function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Read the function's body here, with the types of this call."""
        name = function.__name__
        if function in self._inlining:
            self.emit.fail(f"`{name}` calls itself: recursion is not supported in the mlir dialect", hint="use a loop")
        code = self.code_of(function)
        environment = self._bind(code, function, args, keywords)
        emit, caller, node = self.emit, self.frame, self.emit.node
        assert node is not None
        emit.calls.append(emit.location)
        outside, emit.code = emit.code, code
        self._inlining.append(function)
        self.frame = Frame(code, environment)
        try:
            result = self._inlined_body(code)
        finally:
            self._inlining.pop()
            self.frame = caller
            emit.code = outside
            emit.calls.pop()
        emit.node = node
        return result

    def _bind(
        self, code: Code, function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> dict[str, Any]:
        signature = _signature(function)
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values()):
            self.emit.fail(f"`{function.__name__}` takes * or **: a function of the mlir dialect names each parameter")
        self._check_arguments(signature, function.__name__, args, keywords)
        bound = signature.bind(*args, **keywords)
        bound.apply_defaults()
        environment = dict(bound.arguments)
        for argument in (*code.tree.args.posonlyargs, *code.tree.args.args, *code.tree.args.kwonlyargs):
            value = environment[argument.arg]
            if argument.annotation is not None:
                environment[argument.arg] = self._annotated(code, argument, value)
        return environment

    def _annotated(self, code: Code, argument: ast.arg, value: Any) -> Any:
        """A parameter annotated with a dtype takes that dtype; a constant becomes one."""
        annotation = argument.annotation
        name = annotation.value if isinstance(annotation, ast.Constant) else None
        if isinstance(annotation, (ast.Name, ast.Attribute)):
            name = _static_lookup(code, annotation)
        dtype = as_dtype(name) if name is not None else None
        if dtype is None:
            return value
        if is_literal(value):
            return self.emit.convert(value, dtype)
        if not isinstance(value, EdslValue) or value.type is not dtype:
            self.emit.mismatch(
                f"argument `{argument.arg}` of `{code.name}` has another type",
                str(dtype),
                value,
                argument.arg,
                f"convert it: {dtype}(…)",
            )
        return value

    def _inlined_body(self, code: Code) -> Any:
        emit, builder, frame = self.emit, self.emit.builder, self.frame
        if not any(self.jumps(s) for s in code.body if not isinstance(s, ast.Return)):
            self.run(code.body)
            return frame.returns[0].value if frame.returns else None
        # Paths that jump are blocks; a region of its own holds them, wherever the call stands.
        frame.region = builder.region()
        with builder.inside(builder.block(frame.region)):
            self.run(code.body)
            result = self.returned(code)
            values = _flat(result)
            emit.do("scf.yield", values)
        handles = builder.create("scf.execute_region", (), [v.type.mlir for v in values], None, (frame.region,))
        outside = iter([EdslValue(h, v.type) for h, v in zip(handles, values)])
        return _replaced(result, outside)

    def returned(self, code: Code) -> Any:
        """What the paths of a function return, where they meet."""
        frame, emit = self.frame, self.emit
        if frame.alive:
            emit.node = code.tree
            frame.returns.append(self.edge(frame.returned(None)))
        edges = frame.returns
        kinds = {edge.value is None for edge in edges}
        if len(kinds) > 1:
            missing = next(e for e in edges if e.value is None)
            emit.fail(
                f"`{code.name}` returns a value on some paths only",
                [Row("at the end", "a value", f"None ({missing.location})")],
                "return a value on every path",
                node=code.tree,
            )
        merged = merge("the result", [e.value for e in edges], edges[0].location)
        for item in merged if isinstance(merged, tuple) else (merged,):
            if isinstance(item, (Conflict, Undefined)):
                one, other = (item.one, item.other) if isinstance(item, Conflict) else ("a value", "none")
                emit.fail(
                    f"`{code.name}` returns values of different types",
                    [Row("result", one, other)],
                    "convert one of them",
                    node=code.tree,
                )
        found = list(phis(merged))
        emit.node = code.tree
        self.meet(edges, found)
        return filled(merged)


def edsl_function(called: Any) -> Callable[..., Any] | None:
    """The Python function of an eDSL function, or of a fragment of this dialect."""
    if isinstance(called, Function):
        return called.function
    declaration = getattr(called, "_declaration", None)
    if getattr(called, "dialect", None) == "mlir" and declaration is not None:
        return getattr(declaration, "function", None)
    return None


@functools.lru_cache(maxsize=512)
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


@functools.lru_cache(maxsize=4096)
def _takes(signature: inspect.Signature, count: int) -> bool:
    """Whether so many positional arguments, and nothing else, fit."""
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def _static_lookup(code: Code, node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        value = code.lookup(node.id)
        return None if value is MISSING else value
    assert isinstance(node, ast.Attribute)
    base = _static_lookup(code, node.value)
    return getattr(base, node.attr, None) if isinstance(base, ModuleType) else None


def _flat(entry: Any) -> list[EdslValue]:
    if isinstance(entry, EdslValue):
        return [entry]
    return [v for item in entry for v in _flat(item)] if isinstance(entry, tuple) else []


def _replaced(entry: Any, values: Any) -> Any:
    if isinstance(entry, EdslValue):
        return next(values)
    return type(entry)(_replaced(item, values) for item in entry) if isinstance(entry, tuple) else entry


def _plain(signature: inspect.Signature) -> str:
    """The parameters without annotations."""
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=signature.empty))
