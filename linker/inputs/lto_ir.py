"""LTO-IR, which only NVIDIA's tools read: nvJitLink makes PTX of the functions that are wanted."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import lru_cache

from tle_raw.errors import Context, LinkError, SourceLocation
from tle_raw.linker.from_ptx.read_module import PtxModule, UnreadablePtxError, read_ptx_module
from tle_raw.linker.tools.nvidia_libraries import link_lto, run_nvrtc

ROOT = "tle_raw_lto_root"


def defined(name: str, data: bytes, names: Collection[str], arch: str, timeout: float) -> frozenset[str]:
    """Those of the names that the module defines. The file itself tells nobody: they are linked.

    Raises
    ------
    ToolchainError : NVRTC or nvJitLink is missing. LinkError : the file is damaged, or too new.
    """
    if not names:
        return frozenset()
    module = lto_module(name, data, tuple(sorted(names)), arch, timeout)
    return frozenset(n for n, f in module.functions.items() if n in names and f.body is not None)


@lru_cache(maxsize=64)
def lto_module(name: str, data: bytes, wanted: tuple[str, ...], arch: str, timeout: float) -> PtxModule:
    """PTX of the module, in which the wanted functions are whole: a kernel that takes their addresses keeps them."""
    plain = [each for each in wanted if each.isidentifier()]
    lines = [f'extern "C" __device__ void {each}();' for each in plain]
    kept = "\n".join(f"  at[{index}] = (void*){each};" for index, each in enumerate(plain))
    source = "\n".join([*lines, f'extern "C" __global__ void {ROOT}(void** at) {{', kept, "}"])
    root = run_nvrtc(source, [f"-arch={arch}", "-dlto", "-rdc=true"], lto=True, timeout=timeout)
    if not root.data:
        raise LinkError(f"NVRTC cannot make LTO-IR for {arch}", log=root.log[-1000:])
    try:
        ptx = link_lto([root.data, data], arch, timeout=timeout)
    except LinkError as error:
        raise LinkError(f"{name}: {error.message}", log=error.log, hint=error.hint) from None
    with located(name):
        return read_ptx_module(ptx)


@contextmanager
def located(name: str) -> Iterator[None]:
    """What is not understood of the PTX is told as the file's, in which it has no line."""
    try:
        yield
    except UnreadablePtxError as error:
        raise UnreadablePtxError(
            f"{name} is LTO-IR, and of the PTX that nvJitLink makes of it something is not understood: {error.message}",
            log=error.log,
            hint=error.hint,
            context=Context(source=SourceLocation(name, 0)),
        ) from None
