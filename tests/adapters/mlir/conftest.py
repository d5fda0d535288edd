"""Short ways to compile MLIR fragments, alone and inside kernels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel, ptx_calls
from tle_raw.errors import TLEError
from tle_raw.flir.cpu.run_fragment import run_fragment

MODULES = Path(__file__).parent / "modules"


@triton.jit
def tile_kernel(x, N: tl.constexpr, fragment: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(x + offsets, fragment(tl.load(x + offsets)))


@pytest.fixture(scope="session")
def ptx():
    """PTX of a kernel that calls a fragment over one tile: one entry, nothing called, and a cubin of ptxas's."""

    def compiled(fragment: Any, size: int = 256, pointer: str = "*fp32", capability: int = 90) -> str:
        kernel = compile_kernel(tile_kernel, {"x": pointer}, {"N": size, "fragment": fragment}, capability)
        return checked(kernel)

    return compiled


def checked(kernel: Any) -> str:
    """The PTX of a whole kernel."""
    text = kernel.asm["ptx"]
    assert len(re.findall(r"\.entry\b", text)) == 1
    assert not ptx_calls(kernel) and ".func" not in text
    assert len(kernel.asm["cubin"]) > 1000
    return text


@pytest.fixture(scope="session")
def run():
    """Compile for the CPU and run on a team of threads; the one result, or a list of them."""

    def run_on_cpu(fragment: Any, names: dict | None = None, num_warps: int = 4, **values: Any) -> Any:
        compiled = fragment.compile(target="cpu", **(names or {}))
        results = run_fragment(compiled, values, num_warps=num_warps)
        return results[0] if len(results) == 1 else results

    return run_on_cpu


@pytest.fixture(scope="session")
def refusal():
    """The error that declaring, or compiling for a target, ends with."""

    def refused(source: Any, names: dict | None = None, target: str = "cuda:90", **options: Any) -> TLEError:
        with pytest.raises(TLEError) as caught:
            tle_raw.fragment(source, dialect="mlir", **options).compile(target=target, **(names or {}))
        return caught.value

    return refused
