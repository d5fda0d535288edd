"""Which driver is Triton's active one: the CPU's where there is no GPU, and where ``knobs.target`` asks for it.

Triton asks every backend's driver whether it is active, when a driver is first needed, and demands exactly one. So
the CPU's is active when no other one is. When it is asked for by name, the others step back.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from inspect import isabstract
from typing import Any

from triton.backends.driver import DriverBase

from tle_raw.errors import KnobError, LaunchError
from tle_raw.knobs import OBSERVERS, knobs
from tle_raw.triton_version import VERSION

# Not "cpu": backends of forks have that name, and of two with one name Triton drops one silently.
BACKEND = "tle_cpu"
GROUP = "triton.backends"


def demanded() -> bool:
    """The CPU is asked for by name.

    Raises
    ------
    KnobError : the environment asks for a target that there is none of.
    """
    return knobs.target == "cpu"


def _seems_demanded() -> bool:
    """The same where nothing may fail: an error comes when a driver is needed."""
    try:
        return demanded()
    except KnobError:
        return False


class Selection:
    """What this process has done about Triton's choice."""

    def __init__(self, driver: Callable[..., DriverBase]) -> None:
        self.driver = driver
        self.stepped_back: set[type[DriverBase]] = set()
        self.was_demanded = _seems_demanded()
        self.imposed = False  # Triton's own choice was made while the others were stepping back
        if self.was_demanded:
            self._let_others_step_back()
        OBSERVERS.append(self.follow)

    def is_active(self) -> bool:
        """The answer to Triton's question.

        Raises
        ------
        LaunchError : the CPU is asked for, and it is too late to choose.
        """
        if _asked_for_through_triton():
            return True
        if not demanded():
            return not any(other.is_active() for other in self._others())
        late = [other for other in self._others() if other not in self.stepped_back and other.is_active()]
        if late:
            raise LaunchError(
                f"TLE_RAW_TARGET=cpu was set after Triton was imported, and {late[0].__name__} drives a GPU here",
                hint='set the variable before Triton is imported, or use tle_raw.knobs.target = "cpu"',
            )
        self.imposed = True
        return True

    def follow(self) -> None:
        """Settings have changed in Python: choose again when the answer is another one."""
        config: Any = getattr(sys.modules.get("triton.runtime"), "driver", None)
        if _seems_demanded() == self.was_demanded or not hasattr(config, "set_active"):
            return  # in a Triton that is still being imported, `driver` is the module: nobody has chosen yet
        self.was_demanded = _seems_demanded()
        # Triton has no way to ask who is active without making somebody so.
        before = vars(config).get("_active")
        config.set_active(self.driver(before) if self.was_demanded else self._without_demand())

    def _without_demand(self) -> DriverBase | None:
        """None makes Triton go back to its first choice, or choose if it never has."""
        if not self.imposed:
            return None
        other = next((other for other in self._others() if other.is_active()), None)
        return other() if other else None

    def _others(self) -> Iterator[type[DriverBase]]:
        from triton.backends import backends

        return (backend.driver for backend in backends.values() if backend.driver is not self.driver)

    def _let_others_step_back(self) -> None:
        """Make the other drivers say that they are not active, for as long as the CPU is asked for."""
        for point in entry_points(group=GROUP):
            if point.name != BACKEND:
                for driver in _drivers(import_module(f"{point.value}.driver")):
                    driver.is_active = staticmethod(_unless_demanded(driver.is_active))
                    self.stepped_back.add(driver)


def _asked_for_through_triton() -> bool:
    """From 3.7 on Triton has a variable of its own, and asks only the driver that it names."""
    return VERSION >= (3, 7) and os.environ.get("TRITON_DEFAULT_BACKEND") == BACKEND


def _unless_demanded(is_active: Callable[[], bool]) -> Callable[[], bool]:
    return lambda: not demanded() and is_active()


def _drivers(module: Any) -> list[type[DriverBase]]:
    """The drivers that a module defines, found as Triton finds them."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, DriverBase) and not isabstract(value)
    ]
