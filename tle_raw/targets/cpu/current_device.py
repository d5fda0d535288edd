"""Which simulated device the running thread is."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

_CURRENT = threading.local()


@dataclass(frozen=True)
class Device:
    """A simulated device, as its thread sees it: its ``World``, and its number there."""

    world: Any
    rank: int


def current_device() -> Device | None:
    """The simulated device of the running thread; None on any other."""
    device: Device | None = getattr(_CURRENT, "device", None)
    return device


def set_current_device(device: Device | None) -> None:
    """The running thread is this device from now on."""
    _CURRENT.device = device
