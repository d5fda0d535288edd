"""A kernel in Python code that ``torch.compile`` writes: the names of this package that it uses, and torch leaves out.

torch copies the source of a kernel and of the functions that it calls by their names, with constants and what Triton
itself holds. A module is none of these, so that ``tle`` or ``kernels.fragment`` would mean nothing there. torch has no
way to be told of more: its function that writes the source is wrapped here, as torch's module is imported. What it
writes is part of torch's cache keys too, so that it also says which fragments and which release of this package it is.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from tle_raw.errors import LaunchError
from tle_raw.fragments.fragment import Fragment
from tle_raw.fragments.generated_code import source_of
from tle_raw.fragments.watch import dependencies, is_ours
from tle_raw.identity import digest, package_identity
from tle_raw.when_imported import when_imported

WRITER = "torch._inductor.codegen.wrapper"
FUNCTION = "user_defined_triton_kernel_transitive_closure_source_code"
# What the module that torch writes imports by itself.
_GIVEN = frozenset(("tl", "triton"))
# Where a value that does not say so itself has a name.
_FACES = ("tle_raw.language", "tle_raw.frontends.gpu.language")
_installed = False


def install() -> None:
    """Wrap torch's function once torch is asked for it. Idempotent."""
    global _installed
    if not _installed:
        _installed = True
        when_imported(WRITER, _wrap)


def _wrap(module: ModuleType) -> None:
    original: Callable[..., str] | None = getattr(module, FUNCTION, None)
    if original is None:  # another torch: its kernels find modules, or say which name they lack
        return

    @functools.wraps(original)
    def with_names(kernel: Any, *arguments: Any, **keywords: Any) -> str:
        _check_can_be_launched()
        added = names_of(kernel) if isinstance(kernel, JITFunction) else ""
        return original(kernel, *arguments, **keywords) + added

    setattr(module, FUNCTION, with_names)


def names_of(kernel: JITFunction) -> str:
    """Statements that bind what a kernel's source needs; empty for a kernel that uses nothing of this package."""
    reached, fragments = dependencies(kernel)
    names = {name: (value, is_global) for name, value, is_global in _names(kernel)}
    if not fragments and not any(is_ours(value) for value, _ in names.values()):
        return ""
    lines = [line for name, found in names.items() if (line := _binding(name, *found))]
    identity = digest(package_identity(), *(f.cache_key for f in fragments), *(f.src for f in reached))
    return "\n".join(("", f"# tle_raw {identity}", *lines, ""))


# --- what a kernel names -------------------------------------------------------------------------------------------


def _names(kernel: JITFunction) -> Iterator[tuple[str, Any, bool]]:
    """The outer names of the functions whose source torch copies, with their values, and whether they are globals."""
    waiting, seen = [kernel], {id(kernel)}
    while waiting:
        function = waiting.pop()
        closed = inspect.getclosurevars(function.fn).nonlocals
        scope = {**function.fn.__globals__, **closed}
        for node in ast.walk(ast.parse(function.src)):
            if not isinstance(node, ast.Name) or node.id not in scope:
                continue
            value = scope[node.id]
            yield node.id, value, node.id not in closed
            if isinstance(value, JITFunction) and not is_ours(value) and id(value) not in seen:
                seen.add(id(value))
                waiting.append(value)


def _binding(name: str, value: Any, is_global: bool) -> str:
    """Statements that give the name its value; empty where torch writes some, or nobody can."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}" if name not in _GIVEN and _is_importable(value) else ""
    if isinstance(value, Fragment):  # of globals torch asks for the source itself
        return "" if is_global else f"{source_of(value)}{name} = {value.fn.__name__}"
    if not is_ours(value):
        return ""
    places = (getattr(value, "__module__", ""), *_FACES)
    place = next(((p, n) for p in places for n in _names_in(p, value)), None)
    return f"from {place[0]} import {place[1]} as {name}" if place else ""


def _is_importable(module: ModuleType) -> bool:
    try:
        return module.__name__ != "__main__" and find_spec(module.__name__) is not None
    except (ImportError, ValueError):
        return False


def _names_in(path: str, value: Any) -> Iterator[str]:
    try:
        module = import_module(path)
    except ImportError:
        return
    for name in (getattr(value, "__name__", ""), *dir(module)):
        if name and getattr(module, name, None) is value:
            yield name


# --- what cannot be ------------------------------------------------------------------------------------------------


def _check_can_be_launched() -> None:
    """C++ code launches kernels of GPUs by their machine code; those of the CPU's target are launched by Python.

    Raises
    ------
    LaunchError : torch writes C++ code that is to launch a kernel on the CPU.
    """
    from torch._inductor.virtualized import V  # torch is here: its code generator asks

    try:
        in_cpp, device = V.graph.cpp_wrapper, V.graph.get_current_device_or_throw().type
    except (AttributeError, AssertionError, RuntimeError):
        return  # it asks for a cache key, outside of any graph
    if in_cpp and device == "cpu" and is_ours(type(driver.active)):
        raise LaunchError(
            "Python launches kernels for the CPU: AOTInductor and torch's cpp_wrapper write programs without Python",
            hint="compile for a GPU; on the CPU, torch.compile without cpp_wrapper, or torch.export",
        )
