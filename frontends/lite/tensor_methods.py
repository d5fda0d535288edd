"""``x.extract_tile(...)`` and ``x.insert_tile(...)``: functions of TLE's language as methods of ``tl.tensor``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triton.language import core


def add_tensor_methods(*functions: Callable[..., Any]) -> None:
    """Give ``tl.tensor`` a method for each function that it has none for. Idempotent.

    Triton attaches its own functions to its class in the same way. A method that is there stays, whoever put it
    there: a later Triton may bring one of that name, and code that relies on it must not notice this package. That is
    also why nothing happens before ``tle_raw.language`` is imported: kernels that do not use TLE see Triton as it is.
    A function is marked as one of Triton's builtins, so that the compiler and the interpreter pass it what they pass
    to Triton's own methods.
    """
    for function in functions:
        if not hasattr(core.tensor, function.__name__):
            setattr(core.tensor, function.__name__, function)
