"""Triton's view of the CPU as a device: which one it is, how to launch on it, how to time it.

This module is imported with Triton: it must stay cheap and must not fail.
"""

from __future__ import annotations

import itertools
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from tle_raw.knobs import knobs
from tle_raw.targets.chips import DEFAULT_CHIP
from tle_raw.targets.cpu.current_device import current_device
from tle_raw.targets.cpu.device import DEVICE, DEVICE_WITH_CHECKS, WARP_SIZE
from tle_raw.targets.cpu.selection import Selection
from tle_raw.targets.cpu.torch_name import tell_torch

# Devices of kernels that are compiled in other ways, by which passes are left out, the chip, whether there are checks,
# and whether these look for races.
_DEVICES: dict[tuple[str, str, bool, bool], int] = {}
_NUMBERS = itertools.count(DEVICE_WITH_CHECKS - 1, -1)
STREAM = 0

CPP_TYPES = {
    "i1": "int8_t",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "u1": "uint8_t",
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "fp16": "double",
    "bf16": "double",
    "fp32": "double",
    "f32": "double",
    "fp64": "double",
}


class CpuDriver(DriverBase):
    """The CPU of this machine."""

    def __init__(self, before: Any = None) -> None:
        from tle_raw.targets.cpu.bind_arrays import bind_arrays
        from tle_raw.targets.cpu.utilities import CpuUtilities

        super().__init__()
        self.utils = CpuUtilities(before)
        bind_arrays()

    @staticmethod
    def is_active() -> bool:
        return SELECTION.is_active()

    def launcher_cls(self, source: Any, metadata: Any) -> Any:
        from tle_raw.targets.cpu.launcher import CpuLauncher

        return CpuLauncher(source, metadata)

    def get_current_target(self) -> GPUTarget:
        from tle_raw.host.cpu import host_cpu

        return GPUTarget("cpu", host_cpu().name, WARP_SIZE)

    def get_current_device(self) -> int:
        disabled, chip = knobs.disable_passes, knobs.cpu.chip
        watches = knobs.debug and current_device() is not None
        if disabled or chip != DEFAULT_CHIP or watches:
            key = (disabled, chip, knobs.debug, watches)
            return _DEVICES.get(key) or _DEVICES.setdefault(key, next(_NUMBERS))
        return DEVICE_WITH_CHECKS if knobs.debug else DEVICE

    def set_current_device(self, device: int) -> None:
        """There is only one."""

    def get_current_stream(self, device: int) -> int:
        return STREAM

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        from tle_raw.targets.cpu import timing

        return timing

    def get_benchmarker(self) -> Any:
        from triton.testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self) -> Any:
        from tle_raw.targets.cpu.timing import Flush

        return Flush()

    def clear_cache(self, cache: Any) -> None:
        cache.zero_()

    def map_python_to_cpp_type(self, ty: str) -> str:
        return "void*" if ty.startswith(("*", "tensordesc")) else CPP_TYPES[ty]


SELECTION = Selection(CpuDriver)
tell_torch(CpuDriver)
