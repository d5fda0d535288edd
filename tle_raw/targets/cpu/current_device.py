"""Which simulated device the running thread is."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tle_raw.targets.cpu.world import Device

_CURRENT = threading.local()


def current_device() -> Device | None:
    """The simulated device of the running thread; None on any other."""
    device: Device | None = getattr(_CURRENT, "device", None)
    return device


def set_current_device(device: Device | None) -> None:
    """The running thread is this device from now on."""
    _CURRENT.device = device
