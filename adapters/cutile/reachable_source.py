"""The text of all that can change a function's code: its source, the functions that it calls, what it reads."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tle_raw.adapters.cutile.objects import is_cutile_object, python_function
from tle_raw.errors import FragmentSourceError

# Modules whose functions are no part of a function's text: their names are in it, and their versions in the key.
_FOREIGN = ("cuda", "math", "torch", "numpy")


def reachable_source(function: FunctionType) -> str:
    """One text; equal texts mean equal code.

    Raises
    ------
    FragmentSourceError : a function whose source cannot be read.
    """
    try:
        inspect.getsource(function)
    except (OSError, TypeError) as e:
        raise FragmentSourceError(
            f"the source of `{function.__qualname__}` cannot be read: {e}",
            hint="cuTile reads functions from their files: write it in one",
        ) from e
    return "\n".join(_visit(function, {}))


def _visit(function: FunctionType, seen: dict[int, Any]) -> Iterator[str]:
    if again := _met(function, seen):
        yield again
        return
    try:
        yield inspect.getsource(function.__code__)  # of a wrapper, not of what it wraps
    except (OSError, TypeError):  # only Python calls it, while cuTile evaluates
        yield from _bytecode(function.__code__)
    yield from _describe("defaults", (function.__defaults__, function.__kwdefaults__), seen)
    for name, value in _names_that_it_reads(function):
        yield from _describe(name, value, seen)


def _describe(name: str, value: Any, seen: dict[int, Any]) -> Iterator[str]:
    if isinstance(value, ModuleType):
        yield f"{name} is module {value.__name__}"
    elif inspect.isfunction(value) or is_cutile_object(value):
        inner = python_function(value) if is_cutile_object(value) else value
        yield f"{name} is {inner.__module__}.{inner.__qualname__}"
        if not _is_cutiles_own(inner):
            yield from _visit(inner, seen)
    elif isinstance(value, type):
        yield from _describe_type(name, value, seen)
    elif dataclasses.is_dataclass(value):
        yield from _describe_type(name, type(value), seen)
        yield from _describe(name, [getattr(value, f.name, None) for f in dataclasses.fields(value)], seen)
    elif (items := _items_of(value)) is not None:
        again = "" if isinstance(value, tuple) else _met(value, seen)
        yield f"{name} is {type(value).__qualname__} of {len(items)} {again}"
        for key, item in () if again else items:
            yield from _describe(f"{name}[{key!r}]", item, seen)
    elif hasattr(value, "__array_interface__") and hasattr(value, "tobytes"):
        yield f"{name} = {value.dtype}{value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    elif " at 0x" not in (text := repr(value)):
        yield f"{name} = {text}"
    else:
        again = _met(value, seen)
        yield f"{name} is a {type(value).__qualname__} {again}"
        if not again:
            yield from _describe(name, _parts_of(value), seen)


def _met(value: Any, seen: dict[int, Any]) -> str:
    """Nothing the first time; then which one of those that were met it is: two may have one name."""
    if id(value) in seen:
        return f"number {list(seen).index(id(value))}"
    seen[id(value)] = value
    return ""


def _items_of(value: Any) -> list[tuple[Any, Any]] | None:
    if isinstance(value, (tuple, list)):
        return list(enumerate(value))
    return list(value.items()) if isinstance(value, dict) else None


def _parts_of(value: Any) -> dict[str, Any]:
    """What tells an object that is printed by its address from another one of its type."""
    if isinstance(value, functools.partial):
        return {"func": value.func, "args": value.args, "keywords": value.keywords}
    if inspect.ismethod(value):
        return {"func": value.__func__, "self": value.__self__}
    return dict(getattr(value, "__dict__", {}))


def _describe_type(name: str, value: type, seen: dict[int, Any]) -> Iterator[str]:
    again = _met(value, seen)
    yield f"{name} is {value.__qualname__} {again}"
    if not dataclasses.is_dataclass(value) or again:
        return
    yield str([(f.name, f.type, repr(f.default)) for f in dataclasses.fields(value)])
    for kind in value.__mro__[:-1]:
        for inner, member in vars(kind).items():
            member = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if not inner.startswith("__") or inspect.isfunction(member):
                generated = inspect.isfunction(member) and _is_generated(member)
                yield from () if generated else _describe(inner, member, seen)


def _is_generated(method: FunctionType) -> bool:
    """Written by dataclasses, from the fields."""
    return method.__code__.co_filename in ("<string>", dataclasses.__file__)


def _is_cutiles_own(function: FunctionType) -> bool:
    return (function.__module__ or "").split(".")[:2] == ["cuda", "tile"]


def _names_that_it_reads(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Globals, what closures hold, and the attributes of modules, with their values now."""
    held = inspect.getclosurevars(function)
    scope = {**function.__globals__, **held.nonlocals}
    names = dict.fromkeys(_names(function.__code__))
    for name in names:
        if name not in scope:
            continue
        yield from _with_attributes(name, scope[name], list(names), set())


def _with_attributes(name: str, value: Any, names: list[str], seen: set[int]) -> Iterator[tuple[str, Any]]:
    """A module's attributes of those names, and those of the modules in it."""
    yield name, value
    if not isinstance(value, ModuleType) or id(value) in seen or value.__name__.split(".")[0] in _FOREIGN:
        return
    seen.add(id(value))
    for attribute in names:
        if hasattr(value, attribute):
            yield from _with_attributes(f"{name}.{attribute}", getattr(value, attribute), names, seen)


def _bytecode(code: CodeType) -> Iterator[str]:
    yield f"{code.co_code.hex()} {code.co_names} {[c for c in code.co_consts if not isinstance(c, CodeType)]}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _bytecode(constant)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
