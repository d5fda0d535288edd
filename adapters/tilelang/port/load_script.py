"""Imports a TileLang script whatever it does: what it would compile is taken as it is, what it would run left out."""

from __future__ import annotations
import __future__

import ast
import importlib.util
import linecache
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from tle_raw.adapters.tilelang import objects
from tle_raw.adapters.tilelang.port.capture import captured
from tle_raw.adapters.tilelang.port.main_part import LeftOut, line_of, run_main, without_checks
from tle_raw.adapters.tilelang.port.names import unused
from tle_raw.adapters.tilelang.port.packages import import_parents, module_of
from tle_raw.adapters.tilelang.port.recorded import BuilderCall, recorded_builders
from tle_raw.adapters.tilelang.port.results import Launched
from tle_raw.errors import FragmentSourceError, SourceLocation
from tle_raw.porting.modules import module_file


@dataclass(frozen=True)
class Script:
    """``compiled`` is what the import gave to TileLang's compiler, ``in_main`` what its main part gave.

    ``calls`` : the functions of the module that built kernels in its main part, with their arguments.
    ``is_plain`` : importing gave nothing and asked for no GPU, so that it is an import like any other.
    """

    module: ModuleType
    tree: ast.Module
    compiled: tuple[Any, ...]
    left_out: tuple[LeftOut, ...]
    is_plain: bool
    in_main: tuple[Any, ...] = ()
    left_in_main: tuple[LeftOut, ...] = ()
    calls: tuple[BuilderCall, ...] = ()


def load_script(path: str | Path) -> ModuleType:
    """The module that a TileLang script is, on a machine with a GPU or without one.

    ``path`` is a file, also one inside of a package, or the name of a module: ``"package.module"``. It is not
    ``__main__``. Kernels that it compiles hold their PrimFunc, which is what ``tle_raw.fragment`` wants.

    Raises
    ------
    FragmentSourceError : there is no such file, or it fails by itself.
    """
    file, module = _file(path)
    return run_script(file, module=module).module


def kernel_uncompiled(function: Callable[..., Any], /, **arguments: Any) -> Any:
    """What a function of a script gives that has its kernel compiled: one that holds its PrimFunc, and nothing more.

    TileLang compiles nothing, and no GPU is asked for.
    """
    with captured():
        return function(**arguments)


def load_kernels(path: str | Path, words: Sequence[str] = ()) -> dict[str, Any]:
    """The kernels that a script builds in its ``main`` part, by name; nothing is compiled or launched.

    ``words`` are the script's command line. Each kernel holds its PrimFunc, which is what ``tle_raw.fragment`` wants.

    Raises
    ------
    FragmentSourceError : there is no such file, or it fails by itself.
    """
    file, module = _file(path)
    script = run_script(file, words=words, with_main=True, module=module)
    return named_kernels((*script.compiled, *script.in_main))


def named_kernels(kernels: Sequence[Any]) -> dict[str, Any]:
    """By the names of their PrimFuncs; the second ``gemm`` is ``gemm_2``."""
    import tvm

    found: dict[str, Any] = {}
    for kernel in kernels:
        if any(tvm.ir.structural_equal(kernel.prim_func, other.prim_func) for other in found.values()):
            continue
        found[unused(objects.object_name(kernel), found)] = kernel
    return found


def _file(path: str | Path) -> tuple[Path, str]:
    """The file, and the module's name where that is what was given."""
    is_name = isinstance(path, str) and not path.endswith(".py") and all(p.isidentifier() for p in path.split("."))
    return (module_file(str(path)), str(path)) if is_name else (Path(path), "")


def run_script(
    path: Path, capability: int = 90, words: Sequence[str] = (), with_main: bool = False, module: str = ""
) -> Script:
    """Run a script statement by statement; one that launches a kernel is left there, and the next one is run.

    ``with_main`` also runs what stands under ``if __name__ == "__main__"``, or functions called ``main`` and alike
    where that is missing; kernels that are launched there give tensors that hold nothing. ``module`` : its name.
    """
    path = path.resolve()
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text, str(path))
    except OSError as error:
        raise FragmentSourceError(f"{path} cannot be read: {error.strerror}") from error
    except (SyntaxError, UnicodeDecodeError, ValueError) as error:
        raise _refused(path, error) from error
    linecache.checkcache(str(path))
    left_out: list[LeftOut] = []
    with captured(capability) as taken, _arguments([str(path), *words]):
        root, name = (path.parents[module.count(".")], module) if module else module_of(path)
        left_out += [LeftOut(None, failed) for failed in import_parents(root, name)]
        made = _module(path, name)
        early = len(left_out)
        for code in _statements(without_checks(tree) if with_main else tree, path):
            left, goes_on = _run(code, made, path, is_first=len(left_out) == early)
            left_out += left
            if not goes_on:
                break
        compiled = tuple(taken.kernels)
        is_plain = not compiled and not left_out and not taken.needs_gpu
        script = Script(made, tree, compiled, tuple(left_out), is_plain)
        if not with_main:
            return script
        taken.goes_on = True
        with recorded_builders(made) as recorded:
            left = run_main(tree, path, made, bool(compiled))
        in_main = tuple(taken.kernels[len(compiled) :])
        return replace(script, in_main=in_main, left_in_main=tuple(left), calls=recorded.all_calls(taken.calls))


def _run(code: Any, module: ModuleType, path: Path, is_first: bool) -> tuple[list[LeftOut], bool]:
    """What was left out of a statement, and whether the next one is to be run."""
    try:
        exec(code, vars(module))
    except Launched as stop:
        return [LeftOut(line_of(path, stop.__traceback__), "it runs a kernel")], True
    except SystemExit as stop:
        return [LeftOut(line_of(path, stop.__traceback__), f"it exits ({stop.code}), and what follows")], False
    except Exception as error:
        if is_first:
            raise _failed(path, error) from error
        reason = f"{type(error).__name__}: {error}; something before it was left out"
        return [LeftOut(line_of(path, error.__traceback__), reason)], True
    return [], True


@contextmanager
def _arguments(words: list[str]) -> Iterator[None]:
    """A script that reads its command line gets none."""
    before, sys.argv = sys.argv, words
    try:
        yield
    finally:
        sys.argv = before


def _module(path: Path, name: str) -> ModuleType:
    """Inside of a package it has its own name, so that relative imports and its file's name do no harm."""
    if "." not in name:
        name = path.stem if path.stem not in sys.modules else f"{path.stem}_script"
        if str(path.parent) not in sys.path:
            sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path, loader=SourceFileLoader(name, str(path)))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    return module


def _statements(tree: ast.Module, path: Path) -> Iterator[Any]:
    flags = 0
    for node in tree.body:
        code = compile(ast.Module([node], []), str(path), "exec", flags, dont_inherit=True)
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for name in node.names:  # it holds for all that comes after
                flags |= getattr(__future__, name.name).compiler_flag
        yield code


def _failed(path: Path, error: Exception) -> FragmentSourceError:
    if isinstance(error, FragmentSourceError):
        return error
    failed = FragmentSourceError(f"{path} cannot be imported: {type(error).__name__}: {error}")
    failed.at(source=line_of(path, error.__traceback__))
    return failed


def _refused(path: Path, error: Exception) -> FragmentSourceError:
    failed = FragmentSourceError(f"{path} is no Python file: {getattr(error, 'msg', error)}")
    line = getattr(error, "lineno", None)
    if line:
        failed.at(source=SourceLocation(str(path), line, error.offset or 0, (error.text or "").rstrip()))  # type: ignore[attr-defined]
    return failed
