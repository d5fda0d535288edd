"""What targets ask of a compiler that writes code for NVIDIA GPUs, for adapters to read."""

from __future__ import annotations

from tle_raw.errors import DialectError
from tle_raw.registry import find_target
from tle_raw.target import Target
from tle_raw.targets.base import DeviceCodeWanted, TakesDeviceCode


def find_device_code(target: Target) -> DeviceCodeWanted | None:
    """The form of device code that a target takes, or None where it takes none.

    Raises
    ------
    DialectError : no target is registered under its name.
    """
    backend = find_target(target.backend)
    return backend.wanted_device_code(target) if isinstance(backend, TakesDeviceCode) else None


def wanted_device_code(target: Target, what: str) -> DeviceCodeWanted:
    """The form of device code that a target takes.

    Parameters
    ----------
    what : for the message: who compiles, such as "the cuda dialect compiles".

    Raises
    ------
    DialectError : the target takes no device code, or none is registered under its name.
    """
    wanted = find_device_code(target)
    if wanted is None:
        raise DialectError(f"{what} for cuda targets and for cpu, not for {target}")
    return wanted
