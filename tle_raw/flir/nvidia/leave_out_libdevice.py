"""Link without libdevice where nothing needs it: reading it takes longer than all else that a region adds.

Fragments carry the libdevice functions that they use. Triton links libdevice to every module that calls anything
undefined, which a module with regions always does.

It saves time of the compilation, which was not measured alone; ``samples/benchmarks/compile_time.py`` measures the
whole. ``TLE_RAW_DISABLE_PASSES=leave-out-libdevice`` compiles without it.
"""

from __future__ import annotations

# What Triton lowers to libdevice calls, as it stands in TritonGPU text. A name missing here costs time, not a kernel:
# the finished text is looked through, and linked again with libdevice when something is undefined.
_USERS = (" math.", "__nv_", "tt.mulhiui", "tt.precise_", "arith.remf", "tt.print", "tt.assert")
LIBRARY = "libdevice"


def may_need_libdevice(ttgir: str) -> bool:
    """Whether the kernel's own operations may call libdevice."""
    return any(user in ttgir for user in _USERS)


def calls_libdevice(llir: str) -> bool:
    """Whether a linked module still declares a libdevice function."""
    return "@__nv_" in llir and any(line.startswith("declare") and "@__nv_" in line for line in llir.splitlines())
