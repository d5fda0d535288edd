"""The code generator of Triton that is at work, where Triton calls a function without telling it.

What stands in the head of a ``for`` or of a ``with`` statement is looked up and called by methods of the code generator
that pass it at most the semantic object. The generator is on the stack then, with the statement.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from triton.compiler.code_generator import CodeGenerator
from triton.compiler.errors import CompilationError

from tle_raw.errors import TLEError
from tle_raw.frontends.call_site import call_site

_LOOPS = ("visit_For", "visit_While")
_BRANCHES = ("visit_if_scf", "visit_if_top_level")  # those of constants are visited as if nothing stood around them


def visited(method: str) -> tuple[Any, Any] | None:
    """The code generator whose method of this name is the innermost that runs, and the node that it visits."""
    frame = sys._getframe(1)
    while frame is not None:
        held = frame.f_locals if frame.f_code.co_name == method else {}
        if isinstance(held.get("self"), CodeGenerator):
            return held["self"], held["node"]
        frame = frame.f_back  # type: ignore[assignment]
    return None


def is_in_branch() -> bool:
    """Whether the code generator visits a branch of a run-time condition within the innermost loop that it visits."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name not in _LOOPS:
        if frame.f_code.co_name in _BRANCHES and isinstance(frame.f_locals.get("self"), CodeGenerator):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


@contextmanager
def errors_at(generator: Any, node: ast.AST) -> Iterator[None]:
    """An error of ours becomes Triton's, as where the code generator calls a function itself."""
    try:
        yield
    except TLEError as error:
        error.at(call_site=call_site(generator, generator.semantic))
        raise CompilationError(generator.jit_fn.src, node, str(error)) from error
