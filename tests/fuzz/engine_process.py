"""A process that runs cases: ``engine_process.py backend|interpreter|compiler``, pickled requests in, results out.

The interpreter needs a process of its own, for Triton asks for TRITON_INTERPRET while it is imported. The backend gets
one so that a crash is a failure like any other. The compiler compiles for an H200, and runs nothing.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.fuzz.cases import ONLY_TORCH, TORCH_NAMES, Case, contents


def main(engine: str) -> None:
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a kernel prints is no answer
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    if engine == "interpreter":
        from tests.fuzz import interpreter_mends

        interpreter_mends.apply()
    with tempfile.TemporaryDirectory(prefix="tle_raw-fuzz-") as folder:
        pickle.dump("ready", answers)
        answers.flush()
        while True:
            try:
                case = pickle.load(requests)
            except EOFError:
                return
            try:
                answer: Any = (
                    compiled(case, Path(folder))
                    if engine == "compiler"
                    else run(case, Path(folder), numpy=engine == "backend" and case.numpy)
                )
            except Exception:
                answer = traceback.format_exc()
            pickle.dump(answer, answers)
            answers.flush()


def run(case: Case, folder: Path, numpy: bool) -> dict[str, np.ndarray]:
    """The contents of all arrays after the launch; floats as float64, which holds all of them."""
    module = _loaded(case, folder)
    arrays = {name: _argument(array, numpy) for name, array in case.arrays.items()}
    module.kernel[case.grid](*arrays.values(), *case.scalars.values())
    return {name: _plain(array) for name, array in arrays.items()}


def compiled(case: Case, folder: Path) -> dict[str, np.ndarray]:
    """The size of the machine code, for sm_90."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = _loaded(case, folder).kernel
    short = {"float": "fp", "bfloat": "bf", "uint": "u", "int": "i"}
    types = {}
    for name, array in case.arrays.items():
        kind = array.dtype.rstrip("0123456789")
        types[name] = "*" + {"float8e5": "fp8e5", "float8e4nv": "fp8e4nv"}.get(
            array.dtype, short.get(kind, kind) + array.dtype.removeprefix(kind)
        )
    types |= {name: "i32" if isinstance(value, int) else "fp32" for name, value in case.scalars.items()}
    aligned = {(i,): [["tt.divisibility", 16]] for i, array in enumerate(case.arrays.values()) if not array.skip}
    binary = triton.compile(ASTSource(kernel, types, {}, aligned), target=GPUTarget("cuda", 90, 32))
    return {"bytes": np.array([len(binary.asm["cubin"])])}


def _loaded(case: Case, folder: Path) -> Any:
    file = folder / f"kernel_{case.name}.py"  # Triton reads the source of a kernel from a file
    file.write_text(case.source)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _argument(array: Any, numpy: bool) -> Any:
    numbers = contents(array)
    if numpy and array.dtype not in ONLY_TORCH:
        return _aligned(numbers)[array.skip :]
    return torch.from_numpy(numbers).to(getattr(torch, TORCH_NAMES[array.dtype])).clone()[array.skip :]


def _aligned(numbers: np.ndarray) -> np.ndarray:
    """At a multiple of 64 bytes, as torch does: descriptors need 16."""
    room = np.zeros(numbers.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    result = room[start : start + numbers.nbytes].view(numbers.dtype)
    result[:] = numbers
    return result


def _plain(array: Any) -> np.ndarray:
    if isinstance(array, np.ndarray):
        return array.astype(np.float64) if array.dtype.kind == "f" else array.copy()
    return (array.double() if array.is_floating_point() else array).numpy()


if __name__ == "__main__":
    main(sys.argv[1])
