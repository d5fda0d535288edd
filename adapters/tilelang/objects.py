"""From what a user holds to a PrimFunc: PrimFuncs, their builders, ``@tilelang.jit`` functions, compiled kernels.

They are told apart by their shape, so that nothing is imported to find that an object is none of them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tle_raw.adapters.tilelang.installed import load_tilelang
from tle_raw.errors import CompilationFailed, FragmentSourceError, SourceLocation, TLEError
from tle_raw.fragments.source_text import location_of_function

# How TileLang names a constant that neither an argument nor a tensor gives.
_CONSTANT = re.compile(r"value for constexpr variable `(\w+)`")
_PACKAGES = ("tilelang", "tvm")


def is_tilelang_object(candidate: object) -> bool:
    """A PrimFunc, a ``@tilelang.jit`` function or a compiled kernel."""
    return type(candidate).__module__.split(".")[0] in _PACKAGES


def is_compiled(candidate: object) -> bool:
    """A kernel as TileLang's compiler gives it."""
    return type(candidate).__name__ == "JITKernel"


def object_name(candidate: Any) -> str:
    """The name of the kernel."""
    attributes = getattr(_prim_func(candidate), "attrs", None)
    if attributes is not None and "global_symbol" in attributes:
        return str(attributes["global_symbol"])
    function = python_function(candidate)
    return function.__name__ if function is not None else type(candidate).__name__


def object_location(candidate: Any) -> SourceLocation | None:
    """The line of the Python function that the object was made from."""
    function = python_function(candidate)
    return location_of_function(function) if function is not None else None


def python_function(candidate: Any) -> Callable[..., Any] | None:
    """The user's own Python function behind an object."""
    for _ in range(4):  # a compiled kernel holds a PrimFunc, a jit function another one
        if inspect.isfunction(candidate):
            return candidate
        inner = (getattr(candidate, name, None) for name in ("orig_func", "prim_func", "func"))
        candidate = next((i for i in inner if i is not None), None)
    return None


def build_prim_func(candidate: Any, arguments: Mapping[str, Any]) -> Any:
    """The PrimFunc; ``arguments`` are for functions that build one.

    Raises
    ------
    FragmentSourceError : the object gives no PrimFunc. CompilationFailed : TileLang refuses the source.
    """
    load_tilelang()
    if not inspect.isfunction(candidate) and not hasattr(candidate, "get_tir"):
        if arguments:
            raise FragmentSourceError("arguments= is for functions that build a PrimFunc; this one is built already")
        found = _prim_func(candidate)
    else:
        found = _call(candidate, arguments)
    if not _is_prim_func(found):
        raise FragmentSourceError(
            f"TileLang fragments are PrimFuncs, got {type(found).__name__}",
            hint="decorate the kernel with @T.prim_func, or return the PrimFunc from the function that builds it",
        )
    return found


def _call(candidate: Any, arguments: Mapping[str, Any]) -> Any:
    build = getattr(candidate, "get_tir", candidate)
    with refusals(candidate, arguments):
        return _prim_func(build(**arguments))


@contextmanager
def refusals(candidate: Any, arguments: Mapping[str, Any] | None = None) -> Iterator[None]:
    """What goes wrong inside is the builder's, or TileLang's refusal of its source.

    Raises
    ------
    FragmentSourceError : arguments are missing. CompilationFailed : TileLang refuses the source.
    """
    try:
        yield
    except TLEError:
        raise
    except TypeError as e:
        if not _misses_arguments(candidate, arguments or {}):
            raise _refused(candidate, e) from e
        raise FragmentSourceError(
            f"the PrimFunc cannot be built: {e}", hint="give the builder's arguments: arguments=dict(M=1024, ...)"
        ) from e
    except ValueError as e:
        missing = _CONSTANT.search(str(e))
        if missing is None:
            raise _refused(candidate, e) from e
        name = missing[1]
        raise FragmentSourceError(
            f"nothing says what `{name}` is, which T.const makes a constant of the kernel",
            hint=f"arguments=dict({name}=1024), or the tensor that has it; tle_raw.adapters.tilelang.eager_kernel("
            "function) is called like the function, and takes it from the tensors of each call",
        ).at(source=object_location(candidate)) from e
    except Exception as e:
        raise _refused(candidate, e) from e


def _misses_arguments(candidate: Any, arguments: Mapping[str, Any]) -> bool:
    function = python_function(candidate)
    try:
        inspect.signature(function or candidate).bind(**arguments)
    except TypeError:
        return True
    return False


def _refused(candidate: Any, error: Exception) -> CompilationFailed:
    location = object_location(candidate)
    failed = CompilationFailed("TileLang refuses the kernel", log=f"{type(error).__name__}: {str(error)[:2000]}")
    failed.at(source=location)
    return failed


def _prim_func(candidate: Any) -> Any:
    """A compiled kernel and a jit wrapper of a finished PrimFunc carry it."""
    for name in ("prim_func", "func"):
        inner = getattr(candidate, name, None)
        if _is_prim_func(inner):
            return inner
    return candidate


def _is_prim_func(candidate: object) -> bool:
    return type(candidate).__name__ == "PrimFunc" and is_tilelang_object(candidate)
