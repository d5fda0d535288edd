"""The name under which torch looks for a Triton backend of CPUs: ``cpu``.

torch asks ``"cpu" in triton.backends.backends`` whether Triton can compile for CPUs, and makes the driver of that name
the active one before it compiles for one. The entry is for torch alone: Triton, which asks all of its backends which
one a target is for and whose device is there, hears of this one neither.

This module is imported with Triton: it must stay cheap and must not fail.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from tle_raw.when_imported import when_imported

NAME = "cpu"
# The last of Triton's modules that ``import triton`` brings: its table of backends is complete then.
LAST = "triton.testing"
# Without them the CPU's target compiles nothing, and torch does better not to count on it.
TOOLS = ("cffi", "llvmlite", "torch_mlir")


def tell_torch(driver: type) -> None:
    """Enter the CPU's driver under torch's name for it, once Triton has its table; a fork's entry stays."""

    class Named(type):
        """torch makes an instance, and asks whether the active driver is one."""

        def __call__(cls) -> Any:
            return driver()

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, driver)

    class Driver(metaclass=Named):
        @staticmethod
        def is_active() -> bool:
            return False

    class Compiler:
        @staticmethod
        def supports_target(target: Any) -> bool:
            return False

    def enter(_: ModuleType) -> None:
        backends: Any = sys.modules.get("triton.backends")
        table = getattr(backends, "backends", None)
        if isinstance(table, dict) and NAME not in table and all(map(find_spec, TOOLS)):
            table[NAME] = backends.Backend(Compiler, Driver)

    when_imported(LAST, enter)
