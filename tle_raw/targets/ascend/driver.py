"""No card is driven: Triton asks every backend for a driver, and this one is never active."""

from __future__ import annotations

from typing import Any, NoReturn

from triton.backends.driver import DriverBase

from tle_raw.errors import LaunchError


class AscendDriver(DriverBase):
    """Says that it cannot launch."""

    @staticmethod
    def is_active() -> bool:
        return False

    def map_python_to_cpp_type(self, ty: str) -> NoReturn:
        raise _refusal()

    def get_current_target(self) -> NoReturn:
        raise _refusal()

    def get_active_torch_device(self) -> NoReturn:
        raise _refusal()

    def get_benchmarker(self) -> Any:
        raise _refusal()


def _refusal() -> LaunchError:
    return LaunchError(
        "kernels for Ascend are compiled and not launched",
        hint='triton.compile(source, target=GPUTarget("ascend", "910B3", 1)); tle_raw.report says what a card needs',
    )
