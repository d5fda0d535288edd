"""Functions of ``tle.gpu`` and methods of buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tle_raw.frontends.lite.kernel_function import kernel_function


def gpu_function(body: Callable[..., Any]) -> Callable[..., Any]:
    """As ``kernel_function``, called ``tle.gpu.<name>`` in its errors."""
    return kernel_function(body, f"gpu.{body.__name__}")
