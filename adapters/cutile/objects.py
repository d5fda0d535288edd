"""From what a user holds to a Python function: a ``@ct.kernel``, a ``@ct.function``, or a plain function.

They are told apart by their shape, so that nothing is imported to find that an object is none of them.
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from tle_raw.errors import FragmentSourceError, SourceLocation
from tle_raw.fragments.source_text import location_of_function


def is_kernel(candidate: object) -> bool:
    """A ``@ct.kernel``."""
    return type(candidate).__module__.startswith("cuda.tile") and hasattr(candidate, "_annotated_function")


def is_cutile_object(candidate: object) -> bool:
    """What only cuTile can take: a kernel, or a function under its decorator."""
    return is_kernel(candidate) or hasattr(candidate, "_cutile_tile_function")


def python_function(candidate: Any) -> FunctionType:
    """The user's own function.

    Raises
    ------
    FragmentSourceError : the object holds none.
    """
    function = candidate._annotated_function.pyfunc if is_kernel(candidate) else candidate
    function = inspect.unwrap(function)
    if not inspect.isfunction(function):
        raise FragmentSourceError(
            f"cuTile fragments are Python functions and kernels, got {type(candidate).__name__}",
            hint='decorate a function whose body is written with cuda.tile: @tle_raw.dialect("cutile")',
        )
    if function.__name__ == "<lambda>":
        raise FragmentSourceError("cuTile reads a lambda only inside another function", hint="write it with def")
    return function


def object_location(candidate: Any) -> SourceLocation:
    """The line of the function's ``def``."""
    return location_of_function(python_function(candidate))
