"""Loads compiled kernels, and answers what Triton and its tutorials ask about the device."""

from __future__ import annotations

import os
from typing import Any

from tle_raw.knobs import knobs

# Numbers that host code computes occupancies with. They stand for one core that runs one program at a time.
REGISTERS, REGISTERS_OF_A_KERNEL = 65536, 32
MOST_THREADS = 1 << 20
MOST_SHARED_BYTES = 1 << 20
_LOADED: set[type] = set()  # of what the kernels of this device are held by


class CpuUtilities:
    """The ``utils`` of the CPU's driver. ``before`` is the driver that was active before this one, if any."""

    def __init__(self, before: Any = None) -> None:
        self.before = before

    def load_binary(self, name: str, image: bytes, shared: int, device: int) -> tuple[Any, int, int, int, int]:
        """What keeps the code in memory, the entry's address, registers, spills, most threads."""
        from tle_raw.host.loader import load_object
        from tle_raw.targets.cpu.checksum import checked

        loaded = load_object(checked(image))
        _LOADED.add(type(loaded))
        return loaded, loaded.address, REGISTERS_OF_A_KERNEL, 0, MOST_THREADS

    def unload_module(self, module: Any) -> None:
        """Triton calls this as the kernel goes; the code goes with the last reference.

        As Python ends, too, when nothing can be imported any more.
        """
        # A GPU's kernel may go while the CPU is the active device. Without a driver before that nobody loaded it.
        if not isinstance(module, tuple(_LOADED)) and self.before is not None:
            self.before.utils.unload_module(module)

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {
            "max_shared_mem": MOST_SHARED_BYTES,
            "max_num_regs": REGISTERS,
            "multiprocessor_count": threads_of_a_launch(),
            "warpSize": 32,
            "sm_clock_rate": 0,
            "mem_clock_rate": 0,
            "mem_bus_width": 0,
        }

    def set_printf_fifo_size(self, size: int) -> None:
        """``device_print`` writes at once: there is nothing to size."""


def threads_of_a_launch() -> int:
    """``knobs.cpu.threads``, or the cores that this process may use."""
    return knobs.cpu.threads or len(os.sched_getaffinity(0))
