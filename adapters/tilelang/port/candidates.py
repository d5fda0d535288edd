"""What in a script is a PrimFunc, or gives one: by name, in the order of the script."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tle_raw.adapters.tilelang import objects
from tle_raw.adapters.tilelang.port.config_values import evaluated
from tle_raw.adapters.tilelang.port.default_sizes import guessed
from tle_raw.adapters.tilelang.port.load_script import Script, named_kernels
from tle_raw.adapters.tilelang.port.names import unused
from tle_raw.adapters.tilelang.port.recorded import holds_prim_func, last_name
from tle_raw.errors import DialectError, SourceLocation
from tle_raw.porting import PortRequest, Skipped

PRIM_FUNC, JIT, KERNEL, BUILDER, TAKEN = "PrimFunc", "jit", "kernel", "builder", "taken"


@dataclass(frozen=True)
class Candidate:
    """``path`` is the object's Python expression inside the module; ``arguments`` are those that build it.

    Of a kernel that has no name there, and is ``TAKEN`` while the script runs, it is the name among these.
    ``guessed`` : the arguments that nobody gave. ``function`` : who made it, where it does not know that itself.
    ``inner`` : arguments of the ``@tilelang.jit`` function that a builder gives; ``is_tuned`` : inside of an autotuner.
    """

    name: str
    path: str
    kind: str
    value: Any
    arguments: Mapping[str, Any] = field(default_factory=dict)
    guessed: tuple[str, ...] = ()
    function: Any = None
    inner: Mapping[str, Any] = field(default_factory=dict)
    is_tuned: bool = False

    @property
    def place(self) -> SourceLocation | None:
        if self.function is not None:
            return objects.object_location(self.function)
        return objects.object_location(inspect.unwrap(self.value) if callable(self.value) else self.value)


def find_candidates(script: Script, request: PortRequest) -> Iterator[Candidate | Skipped]:
    """PrimFuncs, kernels, ``@tilelang.jit`` functions, and functions that hold a PrimFunc.

    Raises
    ------
    DialectError : the name that is asked for, or an argument that is given, is none of the script's.
    """
    functions = {node.name: node for node in script.tree.body if isinstance(node, ast.FunctionDef)}
    held = {name: value for name, value in vars(script.module).items() if _kind(script, functions, name, value)}
    if request.name:
        held = {request.name: _named(script, request.name)}
    _check_arguments(held, functions, request)
    built = {_builder_of(kernel) for kernel in script.compiled} | {call.name for call in script.calls}
    for name, value in held.items():
        kind = _kind(script, functions, name, value) or BUILDER
        path = f"{name}.jit_impl" if hasattr(value, "jit_impl") else name
        value = getattr(value, "jit_impl", value)
        if kind in (PRIM_FUNC, KERNEL):
            yield Candidate(name, path, kind, value)
            continue
        texts, missing = _arguments(name, value, functions.get(name), request.arguments)
        given = {n: evaluated(text, script.module) for n, text in texts.items()}
        if not missing:
            yield Candidate(name, path, kind, value, given)
        elif name not in built or request.name:  # the script itself has called it
            more = guessed(objects.python_function(value) or value, missing)
            unknown = [parameter for parameter in missing if parameter not in more]
            if not unknown:
                yield Candidate(name, path, kind, value, {**given, **more}, tuple(missing))
                continue
            wanted = " ".join(f"{name}:{parameter}=…" for parameter in unknown)
            reason = f"it builds a kernel from {', '.join(unknown)}"
            yield Skipped(name, reason, Candidate(name, path, kind, value).place, f"--arguments {wanted}")


def called(script: Script, names: set[str]) -> Iterator[Candidate]:
    """Functions of the module that its main part called, with the arguments that it gave."""
    for call in script.calls:
        if call.is_eager:
            continue
        is_jit = hasattr(call.function, "get_tir")
        held = vars(script.module).get(call.name)
        path = f"{call.name}.jit_impl" if hasattr(held, "jit_impl") else call.name
        kind = JIT if is_jit else BUILDER
        yield Candidate(unused(call.name, names), path, kind, call.function, call.arguments)


def taken(script: Script, names: set[str]) -> Iterator[Candidate]:
    """All that the script would have compiled, for what has no name in it."""
    eager = {id(call.made): call.function for call in script.calls if call.is_eager}
    for name, kernel in named_kernels((*script.compiled, *script.in_main)).items():
        yield Candidate(unused(name, names), name, TAKEN, kernel, function=eager.get(id(kernel)))


def _kind(script: Script, functions: Mapping[str, ast.FunctionDef], name: str, value: Any) -> str:
    """What an object is; "" for what has nothing to do with kernels."""
    if objects.is_tilelang_object(value):
        if type(value).__name__ == "PrimFunc":
            return PRIM_FUNC
        if objects.is_compiled(value):
            return KERNEL
        return JIT if hasattr(value, "get_tir") or hasattr(value, "jit_impl") else ""
    own = _is_function(value) and value.__module__ == script.module.__name__ and name in functions
    return BUILDER if own and holds_prim_func(functions[name]) else ""


def _is_function(value: Any) -> bool:
    """Also one that a decorator such as ``functools.cache`` wraps."""
    return callable(value) and inspect.isfunction(inspect.unwrap(value))


def _named(script: Script, name: str) -> Any:
    value = vars(script.module).get(name)
    if value is None or not (objects.is_tilelang_object(value) or _is_function(value)):
        raise DialectError(f"{script.module.__file__} holds no kernel, and no function, called `{name}`")
    return value


def _builder_of(kernel: Any) -> str:
    """The function of the module in which a captured kernel's PrimFunc was written."""
    function = objects.python_function(kernel)
    return function.__qualname__.split(".")[0] if function is not None else ""


def _arguments(
    name: str, value: Any, written: ast.FunctionDef | None, given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Those that this function takes of what the user gives, and those that it lacks."""
    needed, known = _parameters(value, written)
    mine = {n.removeprefix(f"{name}:"): v for n, v in sorted(given.items()) if n.startswith(f"{name}:")}
    every = {n: v for n, v in given.items() if ":" not in n and n in known}
    arguments = {**every, **mine}
    return arguments, [parameter for parameter in needed if parameter not in arguments]


def _parameters(value: Any, written: ast.FunctionDef | None) -> tuple[list[str], list[str]]:
    """Parameters that have no default, and all; an eager kernel's tensors are none, its ``T.const`` names are."""
    function = objects.python_function(value) or value
    tensors = set(getattr(getattr(value, "func", None), "tensor_args", None) or ())
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name not in tensors]
    consts = _constants(written) if written is not None else []
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    needed = [p.name for p in parameters if p.default is p.empty and p.kind in plain]
    return [*needed, *consts], [*(p.name for p in parameters), *consts]


def _constants(function: ast.FunctionDef) -> list[str]:
    """``M, N = T.const("M N")``: sizes that a call's tensors would give."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and last_name(node) == "const"]
    words = [a.value for call in calls for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return [name for word in words for name in word.replace(",", " ").split()]


def _check_arguments(held: Mapping[str, Any], functions: Mapping[str, ast.FunctionDef], request: PortRequest) -> None:
    builders = {
        name: _parameters(getattr(value, "jit_impl", value), functions.get(name))[1]
        for name, value in held.items()
        if _is_function(value) or hasattr(value, "get_tir") or hasattr(value, "jit_impl")
    }
    for argument in request.arguments:
        function, colon, parameter = argument.rpartition(":")
        taking = [name for name, parameters in builders.items() if parameter in parameters]
        if not taking or (colon and function not in taking):
            builders_text = "; ".join(f"{name}({', '.join(parameters)})" for name, parameters in builders.items())
            raise DialectError(f"no function takes --arguments {argument}", hint=f"there is {builders_text or 'none'}")
