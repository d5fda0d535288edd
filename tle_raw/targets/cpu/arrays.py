"""Arrays and tensors as kernel arguments: their address, their dtype, the memory that they cover.

torch and NumPy are not imported here: an array that is passed has brought its own library.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from tle_raw.errors import LaunchError, Row

# NumPy's names, and those of ml_dtypes, that Triton knows.
DTYPES = frozenset(
    (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "bfloat16"),
        *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    )
)
EXPECTED_DTYPES = "bool, an integer of 8 to 64 bits, float16 to float64, bfloat16 or float8"
CPU_DEVICES = (1,)  # kDLCPU


class Range(NamedTuple):
    """Memory from ``start`` up to, and without, ``end``."""

    start: int
    end: int


class HostArray:
    """An array of NumPy's kind with the two members that Triton wants of a tensor."""

    def __init__(self, array: Any, what: str) -> None:
        check_dtype(array, what)
        self.array = array
        self.dtype = array.dtype

    def data_ptr(self) -> int:
        return int(self.array.__array_interface__["data"][0])


def is_array(value: Any) -> bool:
    """An array that Triton itself does not take."""
    return not hasattr(value, "data_ptr") and (hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__"))


def as_numpy(value: Any, what: str) -> Any:
    """The array as NumPy's kind, in the same memory.

    Raises
    ------
    LaunchError : its memory is elsewhere, or NumPy cannot look at it.
    """
    if hasattr(value, "__array_interface__") and hasattr(value, "dtype"):
        return value
    device = getattr(value, "__dlpack_device__", lambda: (1, 0))()
    if device[0] not in CPU_DEVICES:
        raise elsewhere(what, f"DLPack device {tuple(int(n) for n in device)}")
    try:
        import numpy
    except ImportError as e:
        raise LaunchError(f"{what}: arrays of this library need NumPy", hint="pip install numpy") from e
    try:
        return numpy.asarray(value) if hasattr(value, "__array_interface__") else numpy.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError) as e:
        raise LaunchError(f"{what}: NumPy cannot look at this array: {e}") from e


def check_dtype(array: Any, what: str) -> None:
    """Refuse elements that no kernel can read."""
    dtype = array.dtype
    if dtype.name not in DTYPES:
        raise LaunchError(
            f"{what}: kernels cannot read elements of this dtype",
            table=[Row("dtype", EXPECTED_DTYPES, str(dtype))],
        )
    if not dtype.isnative:
        raise LaunchError(
            f"{what}: the bytes of its elements are in the other order",
            table=[Row("byte order", sys.byteorder, f"dtype {dtype.str!r}")],
            hint="array.astype(array.dtype.newbyteorder('=')) has them in this machine's",
        )


def address_of(value: Any, what: str, *, written: bool) -> int:
    """Where a pointer argument points: arrays, tensors, plain addresses, None.

    Raises
    ------
    LaunchError : memory that the CPU cannot reach, or no array at all.
    """
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    if hasattr(value, "data_ptr"):
        return _tensor_address(value, what)
    if is_array(value):
        array = as_numpy(value, what)
        address, read_only = array.__array_interface__["data"]
        if read_only and written:
            raise LaunchError(
                f"{what}: the array is read-only, and the kernel may write to it",
                hint="pass a copy, or annotate the parameter as `tl.const` when it is only read",
            )
        return int(address)
    raise LaunchError(
        f"{what}: a pointer parameter takes an array",
        table=[Row("argument", "a torch tensor or a NumPy array on the CPU", type(value).__name__)],
    )


def _tensor_address(tensor: Any, what: str) -> int:
    device = getattr(tensor, "device", None)
    kind = getattr(device, "type", "cpu")
    if kind != "cpu":
        raise elsewhere(what, str(device))
    try:
        return int(tensor.data_ptr())
    except RuntimeError as e:  # torch: sparse tensors and those without storage have no address
        raise LaunchError(f"{what}: the tensor has no address: {e}") from e


def elsewhere(what: str, where: str) -> LaunchError:
    """The error for memory of another device."""
    return LaunchError(
        f"{what}: the kernel runs on the CPU and cannot reach this memory",
        table=[Row("device", "cpu", where)],
        hint="move it with .cpu(); or let kernels run on the GPU: del tle_raw.knobs.target, unset TLE_RAW_TARGET",
    )


def memory_of(value: Any) -> Range | None:
    """The memory from an array's first element to its last; None when that cannot be known."""
    base = getattr(value, "base", None)
    if hasattr(value, "untyped_storage"):
        return _extent(value.data_ptr(), tuple(value.shape), value.stride(), value.element_size(), scale=True)
    if hasattr(value, "__array_interface__"):
        interface = value.__array_interface__
        size = value.dtype.itemsize
        strides = interface.get("strides") or _dense(interface["shape"], size)
        return _extent(interface["data"][0], interface["shape"], strides, size)
    if hasattr(value, "data_ptr") and hasattr(base, "untyped_storage"):  # triton.reinterpret
        return memory_of(base)
    return memory_of(as_numpy(value, "")) if is_array(value) else None


def _extent(start: int, shape: Sequence[int], strides: Sequence[int], size: int, scale: bool = False) -> Range:
    if 0 in shape:
        return Range(start, start)
    steps = [(n - 1) * step * (size if scale else 1) for n, step in zip(shape, strides)]
    return Range(start + sum(s for s in steps if s < 0), start + sum(s for s in steps if s > 0) + size)


def _dense(shape: Sequence[int], size: int) -> tuple[int, ...]:
    strides = []
    for length in reversed(shape):
        strides.append(size)
        size *= length
    return tuple(reversed(strides))
