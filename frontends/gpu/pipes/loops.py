"""The loops of the kernel around what is being traced, in the functions that called this one too."""

from __future__ import annotations

import sys
from typing import Any

from triton.compiler import code_generator
from triton.language import core

from tle_raw.frontends.lite.arguments import is_integer, plain


def loops_here() -> tuple[tuple[int, int | None], ...]:
    """Outermost first: which loop it is, and how often it runs, None where that is not a constant.

    A loop that Triton unrolls while it traces is none: ``tl.static_range``.
    """
    found: list[tuple[int, int | None]] = []
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == code_generator.__file__:
            name, values = frame.f_code.co_name, frame.f_locals
            if name == "visit_While" or (name == "visit_For" and values.get("IteratorClass") is not core.static_range):
                found.append((id(values["node"]), _times(values) if name == "visit_For" else None))
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(reversed(found))


def is_rehearsed(generator: Any) -> bool:
    """Whether Triton traces the body of a loop only to see which variables it changes, and throws it away.

    Variables have the values of before the loop then: two that differ in the loop may be one value. A function that is
    called there is traced once, and is none of this.
    """
    frame = sys._getframe(1) if generator is not None else None
    while frame is not None:
        if frame.f_code.co_name == "_find_carries" and frame.f_locals.get("self") is generator:
            return True
        frame = frame.f_back
    return False


def _times(values: dict[str, Any]) -> int | None:
    bounds = [plain(value) for value in values.get("iter_args", ())]
    if not bounds or values.get("iter_kwargs") or not all(map(is_integer, bounds)):
        return _times_of_iterator(values.get("iterator"))
    return len(range(*bounds))


def _times_of_iterator(iterator: Any) -> int | None:
    bounds = [plain(getattr(iterator, name, None)) for name in ("start", "end", "step")]
    return len(range(*bounds)) if all(map(is_integer, bounds)) else None
