"""The text of all that can change a function's code: its source, the functions that it calls, what it reads."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tle_raw.adapters.cutile.objects import is_cutile_object, python_function
from tle_raw.errors import FragmentSourceError


def reachable_source(function: FunctionType) -> str:
    """One text; equal texts mean equal code.

    Raises
    ------
    FragmentSourceError : a function whose source cannot be read.
    """
    return "\n".join(_visit(function, {}))


def _visit(function: FunctionType, seen: dict[int, Any]) -> Iterator[str]:
    if id(function) in seen:
        return
    seen[id(function)] = function
    try:
        yield inspect.getsource(function)
    except (OSError, TypeError) as e:
        raise FragmentSourceError(
            f"the source of `{function.__qualname__}` cannot be read: {e}",
            hint="cuTile reads functions from their files: write it in one",
        ) from e
    yield f"defaults {function.__defaults__!r} {function.__kwdefaults__!r}"
    for name, value in _names_that_it_reads(function):
        yield from _describe(name, value, seen)


def _describe(name: str, value: Any, seen: dict[int, Any]) -> Iterator[str]:
    if isinstance(value, ModuleType):
        return
    if inspect.isfunction(value) or is_cutile_object(value):
        inner = python_function(value)
        if not _is_cutiles_own(inner):
            yield f"{name} is {inner.__qualname__}"
            yield from _visit(inner, seen)
    elif isinstance(value, type):
        yield from _describe_type(name, value, seen)
    elif dataclasses.is_dataclass(value):
        yield from _describe_type(name, type(value), seen)
        yield f"{name} = {value!r}"
    elif " at 0x" not in (text := repr(value)):
        yield f"{name} = {text}"


def _describe_type(name: str, value: type, seen: dict[int, Any]) -> Iterator[str]:
    yield f"{name} is {value.__qualname__}"
    if not dataclasses.is_dataclass(value) or id(value) in seen:
        return
    seen[id(value)] = value
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
        value = scope[name]
        yield name, value
        if isinstance(value, ModuleType) and value.__name__.split(".")[0] not in ("cuda", "math", "torch", "numpy"):
            yield from ((f"{name}.{n}", getattr(value, n)) for n in names if hasattr(value, n))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
