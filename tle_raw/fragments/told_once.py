"""A function whose parameters are found out once: Triton asks for them at each call in a kernel."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def told_once(function: F) -> F:
    """The function, with its signature where ``inspect`` looks first. It takes 0.1 ms otherwise, more than the call."""
    function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return function
