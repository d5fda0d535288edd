"""What code for the CPU needs of a compiler beside itself: the runtime of thread blocks, carried by the library."""

from __future__ import annotations

from tle_raw.emulation.runtime import machine_triple, runtime_name, runtime_text
from tle_raw.knobs import knobs
from tle_raw.linker.tools.clang import find_clang


def packed_runtime() -> dict[str, bytes]:
    """Path and content of the runtime for this machine, as ``tle_raw.emulation.runtime`` finds it."""
    clang = find_clang(str(knobs.cuda.clang) if knobs.cuda.clang else None)
    return {f"runtime/{runtime_name()}": runtime_text(clang).encode()} if machine_triple() else {}
