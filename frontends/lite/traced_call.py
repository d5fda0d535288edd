"""From a function of TLE's language to a ``@triton.jit`` function that does its work in the user's kernel."""

from __future__ import annotations

from typing import Any

from triton.language import core


def call_kernel_function(function: Any, *arguments: Any, semantic: Any, generator: Any) -> Any:
    """Call a ``@triton.jit`` function in the kernel that is being traced, or interpreted."""
    if generator is None:
        return function(*arguments)
    given = [core.constexpr(one) if isinstance(one, (bool, int, str, tuple)) else one for one in arguments]
    return generator.call_JitFunction(function, given, kwargs={})
