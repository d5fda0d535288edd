"""Functions of the language: what `tle_raw.mlir` exports and a fragment calls."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tle_raw.errors import RegionError


class Intrinsic:
    """A function that emits operations. Its Python signature is what a fragment calls it with."""

    __name__: str

    def __init__(self, emitter: Callable[..., Any]) -> None:
        functools.update_wrapper(self, emitter)
        self.emit = emitter
        full = inspect.signature(emitter)
        self.__signature__ = full.replace(parameters=list(full.parameters.values())[1:])

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise RegionError(
            f"`{self.__name__}` is device code: it works only inside a function of the mlir dialect",
            hint='decorate the function with @tle_raw.dialect("mlir") or @tle_raw.mlir.function',
        )

    def __repr__(self) -> str:
        return f"<tle_raw.mlir.{self.__name__}>"


class Function:
    """An eDSL function that fragments call; it is inlined with the types of each call."""

    __name__: str

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise RegionError(f"`{self.__name__}` is device code: it is called from fragments of the mlir dialect only")

    def __repr__(self) -> str:
        return f"<tle_raw.mlir.function {self.__name__}>"


def function(function: Callable[..., Any]) -> Function:
    """Make a Python function callable from eDSL code.

    Parameters may be annotated with dtypes; others take what the call gives them, constants included.

    Examples
    --------
    >>> @tle_raw.mlir.function
    ... def clamp(x, low, high):
    ...     return min(max(x, low), high)
    """
    return Function(function)
