"""Asks torch tensors and NumPy arrays the same questions, so that the samples take both; and holds their checks."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np


def is_numpy(array: Any) -> bool:
    return isinstance(array, np.ndarray)


def empty(shape: Iterable[int], like: Any, dtype: Any = None) -> Any:
    """An array of the kind, device and (unless told) dtype of ``like``. ``dtype`` is a name, such as "float32"."""
    if is_numpy(like):
        return np.empty(tuple(shape), dtype or like.dtype)
    import torch

    return torch.empty(tuple(shape), dtype=getattr(torch, dtype) if dtype else like.dtype, device=like.device)


def zeros(shape: Iterable[int], like: Any, dtype: Any = None) -> Any:
    array = empty(shape, like, dtype)
    array[...] = 0
    return array


def strides(array: Any) -> tuple[int, ...]:
    """In elements, which is what kernels compute with; NumPy counts bytes."""
    return tuple(s // array.itemsize for s in array.strides) if is_numpy(array) else array.stride()


def address(array: Any) -> int:
    return array.ctypes.data if is_numpy(array) else array.data_ptr()


def double(array: Any) -> np.ndarray:
    """A float64 NumPy copy: what references are computed with."""
    return array.astype(np.float64) if is_numpy(array) else array.double().cpu().numpy()


def device() -> str:
    """Where the samples run: the samples are the same kernels on a GPU."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def load(name: str) -> ModuleType:
    """The sample ``name``, e.g. "02_softmax": a file that starts with a digit cannot be imported by name."""
    spec = importlib.util.spec_from_file_location(f"triton_on_cpu_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def largest_share(got: Any, want: np.ndarray, relative: float, absolute: float) -> float:
    """The largest ``|got - want| / (absolute + relative * |want|)``: at most 1 is right, a NaN is not."""
    error = np.abs(double(got) - want)
    return float(np.max(error / (absolute + relative * np.abs(want)), initial=0.0))


def main(title: str, check: Callable[[], Iterable[tuple[str, float]]]) -> int:
    """Run the checks of a sample and print them. Returns the exit code."""
    print(f"{title}, on {device()}")
    good = True
    for what, share in check():
        right = share <= 1  # not so for a NaN
        good &= right
        print(f"  {'ok' if right else 'WRONG':5}  {what:48}  error {share:.2f} of what is allowed")
    print("PASS" if good else "FAIL")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit("arrays.py is what the samples share; run one of the numbered files")
