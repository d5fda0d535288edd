"""Functions in the head of a ``with`` statement, which Triton's code generator calls without telling of itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tle_raw.frontends.lite.code_generator import errors_at, visited
from tle_raw.frontends.lite.kernel_function import kernel_function


def with_function(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """``kernel_function(function, name)`` that is also passed the generator, ``_generator``, where Triton traces.

    ``visit_With`` is found on the stack, and an error of ours becomes Triton's at the statement.
    """
    checked = kernel_function(function, name)

    @functools.wraps(checked)
    def called(*args: Any, _semantic: Any = None, **keywords: Any) -> Any:
        found = visited("visit_With") if _semantic is not None else None
        if found is None:
            return checked(*args, _semantic=_semantic, **keywords)
        generator, statement = found
        with errors_at(generator, statement):
            return checked(*args, _semantic=_semantic, _generator=generator, **keywords)

    return called
