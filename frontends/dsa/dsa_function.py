"""Functions of ``tle.dsa``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tle_raw.frontends.lite.kernel_function import kernel_function


def dsa_function(body: Callable[..., Any]) -> Callable[..., Any]:
    """As ``kernel_function``, called ``tle.dsa.<name>`` in its errors."""
    return kernel_function(body, f"dsa.{body.__name__}")


def ascend_function(body: Callable[..., Any]) -> Callable[..., Any]:
    """The same of ``tle.dsa.ascend``."""
    return kernel_function(body, f"dsa.ascend.{body.__name__}")
