"""Where the GPU tests run, and how they compare: on the device, on the CPU, or compiling only (see conftest.py)."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch

# Set: launches compile for cuda:90 and run nothing, numbers are not compared. For machines without a GPU.
COMPILE_ONLY = bool(os.environ.get("GPU_TESTS_COMPILE_ONLY"))
# "cpu": the same tests on tensors of the host, through the CPU backend.
ON_CPU = not COMPILE_ONLY and os.environ.get("TLE_GPU_TESTS_ON") == "cpu"
# How often a test launches what may go wrong now and then; fewer times where a tool watches every access.
TIMES = int(os.environ.get("GPU_TESTS_TIMES", 3 if COMPILE_ONLY or ON_CPU else 1000))
# Whether the copy engine and wgmma are there.
HOPPER = COMPILE_ONLY or (torch.cuda.is_available() and torch.cuda.get_device_capability() >= (9, 0))
DEVICE = "cpu" if COMPILE_ONLY or ON_CPU else "cuda"

# Our names, torch's dtypes. Floats first differ in what a comparison may forgive.
FLOATS = {
    "f8e4m3": torch.float8_e4m3fn,
    "f8e5m2": torch.float8_e5m2,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
}
INTEGERS = {
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "u16": torch.uint16,
    "u32": torch.uint32,
    "u64": torch.uint64,
}
DTYPES = {"i1": torch.bool, **INTEGERS, **FLOATS}
# Half a unit in the last place, with room for one more rounding on the way.
ROUNDING = {"f8e4m3": 2**-3, "f8e5m2": 2**-2, "f16": 2**-10, "bf16": 2**-7, "f32": 2**-22, "f64": 2**-50}

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_BYTES = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def random(name: str, shape: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    """Random values of one of our dtypes on the device: all bit patterns of integers, normal floats."""
    generator = torch.Generator().manual_seed(seed)
    dtype = DTYPES[name]
    if name == "i1":
        return torch.randint(0, 2, shape, generator=generator).bool().to(DEVICE)
    if name in INTEGERS:
        count = int(np.prod(shape)) * dtype.itemsize
        data = torch.randint(0, 256, (count,), generator=generator, dtype=torch.int64).to(torch.uint8)
        return data.view(dtype).reshape(shape).to(DEVICE)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).to(DEVICE)


def poisoned(like: torch.Tensor, shape: tuple[int, ...] | None = None) -> torch.Tensor:
    """A tensor in which every byte is 0x5A: an element that nobody writes is seen. Bools start as True."""
    empty = torch.empty(shape or like.shape, dtype=like.dtype, device=like.device)
    if like.dtype == torch.bool:
        return empty.fill_(True)
    empty.view(torch.uint8).fill_(0x5A)
    return empty


def bits(tensor: torch.Tensor) -> np.ndarray:
    """The elements' bits as they are now, on the host."""
    same = tensor.detach().contiguous().cpu().clone()
    same = same.to(torch.uint8) if same.dtype == torch.bool else same.view(_BITS[same.element_size()])
    return same.numpy().view(_BYTES[same.element_size()])


def numbers(tensor: torch.Tensor) -> np.ndarray:
    """The elements as they are now, as float64 on the host."""
    return tensor.detach().cpu().to(torch.float64, copy=True).numpy()


def integers(tensor: torch.Tensor) -> np.ndarray:
    """The elements of an integer tensor as a NumPy array of the same dtype."""
    name = str(tensor.dtype).removeprefix("torch.")
    return bits(tensor).view(np.dtype(name))


def check_bits(got: torch.Tensor, expected: np.ndarray) -> None:
    """Every bit is equal; ``expected`` is unsigned."""
    if not COMPILE_ONLY:
        np.testing.assert_array_equal(bits(got), expected)


def check_integers(got: torch.Tensor, expected: np.ndarray) -> None:
    if not COMPILE_ONLY:
        np.testing.assert_array_equal(integers(got), expected)


def check_close(got: torch.Tensor, expected: np.ndarray, relative: float, absolute: float = 0.0) -> None:
    """Each element within ``relative`` of a float64 reference. NaN never passes."""
    if not COMPILE_ONLY:
        np.testing.assert_allclose(numbers(got), expected, rtol=relative, atol=absolute, equal_nan=False)


def check_norm(got: torch.Tensor, expected: np.ndarray, most: float) -> None:
    """The norm of the error over the norm of the reference: for sums of many products."""
    if not COMPILE_ONLY:
        error = np.linalg.norm(numbers(got) - expected) / np.linalg.norm(expected)
        assert error < most, f"relative error {error:.3g}, at most {most:.3g} is right"


needs_device = pytest.mark.skipif(COMPILE_ONLY, reason="needs a device to run on, compiling tells nothing")
needs_gpu = pytest.mark.skipif(ON_CPU, reason="is about GPUs")
