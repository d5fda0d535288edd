"""Generated kernels against the vendor's own headers, linker scripts and firmware, without a card and its compiler."""

from tle_raw.targets.tenstorrent.real_headers.check import Outcome, Trio, check
from tle_raw.targets.tenstorrent.real_headers.compiler import find_compiler
from tle_raw.targets.tenstorrent.real_headers.every_operation import every_operation
from tle_raw.targets.tenstorrent.real_headers.from_module import trio_of
from tle_raw.targets.tenstorrent.real_headers.wheel import ARCHITECTURES, find_wheel, is_there

__all__ = [
    "ARCHITECTURES",
    "Outcome",
    "Trio",
    "check",
    "every_operation",
    "find_compiler",
    "find_wheel",
    "is_there",
    "trio_of",
]
