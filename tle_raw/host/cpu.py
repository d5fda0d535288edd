"""The CPU of this machine: what LLVM calls it, and how wide its vectors are."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tle_raw.linker.tools.llvmlite_binding import load_llvmlite

# Features that make a vector width usable for every element type. Anything else has 16 bytes: SSE2, NEON.
WIDTHS = ((64, ("avx512f", "avx512vl", "avx512bw")), (32, ("avx2",)))
NARROWEST = 16


@dataclass(frozen=True)
class HostCpu:
    """``name`` and ``features`` are LLVM's; ``vector_bytes`` is the widest vector that holds any element type.

    ``fma`` says whether a multiplication and an addition are one instruction.
    """

    name: str
    features: str
    vector_bytes: int
    fma: bool


@cache
def host_cpu() -> HostCpu:
    """The CPU that this process runs on.

    Raises
    ------
    ToolchainError : llvmlite is missing.
    """
    llvm = load_llvmlite()
    features = llvm.get_host_cpu_features()
    fma = bool(features.get("fma")) or platform.machine() == "aarch64"  # which has it always
    return HostCpu(llvm.get_host_cpu_name(), features.flatten(), vector_bytes(features), fma)


def vector_bytes(features: Mapping[str, bool]) -> int:
    """Bytes of the widest vector of a CPU with these features."""
    for width, needed in WIDTHS:
        if all(features.get(name) for name in needed):
            return width
    return NARROWEST
