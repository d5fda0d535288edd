"""Imports a TileLang script whatever it does: what it would compile is taken as it is, what it would run left out."""

from __future__ import annotations
import __future__

import ast
import importlib.util
import linecache
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from tle_raw.adapters.tilelang.port.capture import Launched, captured
from tle_raw.errors import FragmentSourceError, SourceLocation


@dataclass(frozen=True)
class LeftOut:
    """A statement of the script that was not finished, and why."""

    place: SourceLocation
    reason: str


@dataclass(frozen=True)
class Script:
    """``compiled`` is what the import gave to TileLang's compiler.

    ``is_plain`` : it gave nothing and asked for no GPU, so that it is an import like any other.
    """

    module: ModuleType
    tree: ast.Module
    compiled: tuple[Any, ...]
    left_out: tuple[LeftOut, ...]
    is_plain: bool


def load_script(path: str | Path) -> ModuleType:
    """The module that a TileLang script is, on a machine with a GPU or without one.

    It is not ``__main__``. Kernels that it compiles hold their PrimFunc, which is what ``tle_raw.fragment`` wants.

    Raises
    ------
    FragmentSourceError : there is no such file, or it fails by itself.
    """
    return run_script(Path(path)).module


def run_script(path: Path, capability: int = 90) -> Script:
    """Run a script statement by statement; one that launches a kernel is left there, and the next one is run."""
    path = path.resolve()
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text, str(path))
    except OSError as error:
        raise FragmentSourceError(f"{path} cannot be read: {error.strerror}") from error
    except (SyntaxError, UnicodeDecodeError, ValueError) as error:
        raise _refused(path, error) from error
    module = _module(path)
    linecache.checkcache(str(path))
    left_out: list[LeftOut] = []
    with captured(capability) as taken, _arguments([str(path)]):
        for code in _statements(tree, path):
            try:
                exec(code, vars(module))
            except Launched as stop:
                left_out.append(LeftOut(_line(path, stop.__traceback__), "it runs a kernel"))
            except SystemExit as stop:
                left_out.append(LeftOut(_line(path, stop.__traceback__), f"it exits ({stop.code}), and what follows"))
                break
            except Exception as error:
                if not left_out:
                    raise _failed(path, error) from error
                reason = f"{type(error).__name__}: {error}; something before it was left out"
                left_out.append(LeftOut(_line(path, error.__traceback__), reason))
    is_plain = not taken.kernels and not left_out and not taken.needs_gpu
    return Script(module, tree, tuple(taken.kernels), tuple(left_out), is_plain)


@contextmanager
def _arguments(words: list[str]) -> Iterator[None]:
    """A script that reads its command line gets none."""
    before, sys.argv = sys.argv, words
    try:
        yield
    finally:
        sys.argv = before


def _module(path: Path) -> ModuleType:
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_script"
    spec = importlib.util.spec_from_file_location(name, path, loader=SourceFileLoader(name, str(path)))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    return module


def _statements(tree: ast.Module, path: Path) -> Iterator[Any]:
    flags = 0
    for node in tree.body:
        code = compile(ast.Module([node], []), str(path), "exec", flags, dont_inherit=True)
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for name in node.names:  # it holds for all that comes after
                flags |= getattr(__future__, name.name).compiler_flag
        yield code


def _line(path: Path, trace: TracebackType | None) -> SourceLocation:
    """The innermost line of the script itself."""
    lines = [number for frame, number in traceback.walk_tb(trace) if frame.f_code.co_filename == str(path)]
    number = lines[-1] if lines else 1
    return SourceLocation(str(path), number, 0, linecache.getline(str(path), number).rstrip())


def _failed(path: Path, error: Exception) -> FragmentSourceError:
    if isinstance(error, FragmentSourceError):
        return error
    failed = FragmentSourceError(f"{path} cannot be imported: {type(error).__name__}: {error}")
    failed.at(source=_line(path, error.__traceback__))
    return failed


def _refused(path: Path, error: Exception) -> FragmentSourceError:
    failed = FragmentSourceError(f"{path} is no Python file: {getattr(error, 'msg', error)}")
    line = getattr(error, "lineno", None)
    if line:
        failed.at(source=SourceLocation(str(path), line, error.offset or 0, (error.text or "").rstrip()))  # type: ignore[attr-defined]
    return failed
