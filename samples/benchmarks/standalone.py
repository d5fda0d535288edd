"""A CUDA kernel of its own: compiled by nvcc, loaded by the driver, launched on PyTorch's stream."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import tle_raw

FLAGS = ("-arch=sm_90", "-O3", "-std=c++17", "-cubin")
SHARED_WITHOUT_ASKING = 48 * 1024
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def nvcc() -> str | None:
    found = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    return found if Path(found).is_file() else None


def compile_with_nvcc(source: str) -> bytes:
    """A cubin for sm_90. TLE_SAMPLES_CUBINS names a folder that keeps them: CUB takes nvcc seconds."""
    program = nvcc()
    if program is None:
        raise SystemExit("nvcc is needed for the standalone kernels")
    folder = os.environ.get("TLE_SAMPLES_CUBINS")
    kept = Path(folder, hashlib.sha256("\0".join((*FLAGS, source)).encode()).hexdigest()) if folder else None
    if kept and kept.is_file():
        return kept.read_bytes()
    image = _compiled(program, source)
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(image)
    return image


def _compiled(program: str, source: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder, "kernel.cu"), Path(folder, "kernel.cubin")
        file.write_text(source)
        include = Path(tle_raw.__file__).parent / "include"
        run = subprocess.run(
            [program, *FLAGS, f"-I{include}", str(file), "-o", str(out)], capture_output=True, text=True
        )
        if run.returncode != 0:
            raise SystemExit(f"nvcc failed:\n{run.stderr}")
        return out.read_bytes()


class Kernel:
    """``kernel(grid, block, arguments, shared=bytes)``; tensors are passed by their address, ints as 32 bits."""

    def __init__(self, source: str, name: str) -> None:
        self._module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        image = compile_with_nvcc(source)
        check(driver().cuModuleLoadData(ctypes.byref(self._module), image))
        check(driver().cuModuleGetFunction(ctypes.byref(self._function), self._module, name.encode()))
        self._shared = 0

    def __call__(self, grid: int, block: int, *arguments: Any, shared: int = 0) -> None:
        import torch

        if shared > max(SHARED_WITHOUT_ASKING, self._shared):
            check(driver().cuFuncSetAttribute(self._function, MAX_DYNAMIC_SHARED, shared))
            self._shared = shared
        values = [ctypes.c_int(a) if isinstance(a, int) else ctypes.c_void_p(a.data_ptr()) for a in arguments]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        check(driver().cuLaunchKernel(self._function, grid, 1, 1, block, 1, 1, shared, stream, pointers, None))


@cache
def driver() -> Any:
    """The CUDA driver's library, with PyTorch's context."""
    import torch

    torch.zeros(1, device="cuda")  # makes PyTorch's context the current one
    return ctypes.CDLL("libcuda.so.1")


def check(code: int) -> None:
    """An error for what the driver answers, unless that is success."""
    if code != 0:
        text = ctypes.c_char_p()
        driver().cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"the CUDA driver says {code}: {(text.value or b'?').decode()}")
