"""Arrays and tensors as kernel arguments: their address, their dtype, the memory that they cover.

torch and NumPy are not imported here: an array that is passed has brought its own library.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

from tle_raw.errors import LaunchError, Row
from tle_raw.fragments.memoryless import is_empty, without_memory

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

    __slots__ = ("array", "dtype")

    def __init__(self, array: Any, name: str) -> None:
        self.array = array
        self.dtype = array.dtype
        if self.dtype not in _KNOWN_GOOD:
            check_dtype(self.dtype, name)

    def data_ptr(self) -> int:
        return int(self.array.__array_interface__["data"][0])


_KNOWN_GOOD: set[Any] = set()  # dtypes that were looked at: their names are slow to get


ANYWHERE = Range(0, -1)  # an end of all ones, read as unsigned


class Kind(Enum):
    """What sort of argument a value is."""

    TENSOR = "has data_ptr, as Triton wants it"
    ARRAY = "NumPy's, or like it"
    FOREIGN_ARRAY = "an array that NumPy can look at"
    SCALAR = "a number of NumPy's"
    OTHER = "none of these"


_KINDS: dict[type, Kind] = {}  # asking a value for what it does not have is slow


def kind_of(value: Any) -> Kind:
    """The sort of an argument."""
    kind = _KINDS.get(type(value))
    if kind is None:
        kind = _look_at(value)
        if kind is not Kind.OTHER:
            _KINDS[type(value)] = kind
    return kind


def _look_at(value: Any) -> Kind:
    if hasattr(value, "data_ptr"):
        return Kind.TENSOR
    if hasattr(value, "__array_interface__") and hasattr(value, "dtype"):
        # numpy.int32(5) has everything that an array of rank 0 has, but cannot be written to.
        return Kind.ARRAY if hasattr(value, "ctypes") else Kind.SCALAR
    is_foreign = hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__")
    return Kind.FOREIGN_ARRAY if is_foreign else Kind.OTHER


def as_numpy(value: Any, name: str) -> Any:
    """The array as NumPy's kind, in the same memory.

    Raises
    ------
    LaunchError : its memory is elsewhere, or NumPy cannot look at it.
    """
    if kind_of(value) is Kind.ARRAY:
        return value
    device = getattr(value, "__dlpack_device__", lambda: (1, 0))()
    if device[0] not in CPU_DEVICES:
        raise elsewhere(name, f"DLPack device {tuple(int(n) for n in device)}")
    try:
        import numpy
    except ImportError as e:
        raise LaunchError(f"argument `{name}`: arrays of this library need NumPy", hint="pip install numpy") from e
    try:
        return numpy.asarray(value) if hasattr(value, "__array_interface__") else numpy.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError) as e:
        raise LaunchError(f"argument `{name}`: NumPy cannot look at this array: {e}") from e


def check_dtype(dtype: Any, name: str) -> None:
    """Refuse elements that no kernel can read."""
    if dtype.name not in DTYPES:
        raise LaunchError(
            f"argument `{name}`: kernels cannot read elements of this dtype",
            table=[Row("dtype", EXPECTED_DTYPES, str(dtype))],
        )
    if not dtype.isnative:
        raise LaunchError(
            f"argument `{name}`: the bytes of its elements are in the other order",
            table=[Row("byte order", sys.byteorder, f"dtype {dtype.str!r}")],
            hint="array.astype(array.dtype.newbyteorder('=')) has them in this machine's",
        )
    _KNOWN_GOOD.add(dtype)


def address_of(value: Any, name: str, written: bool) -> int:
    """Where a pointer argument points: arrays, tensors, plain addresses, None.

    Raises
    ------
    LaunchError : memory that the CPU cannot reach, or no array at all.
    """
    kind = kind_of(value)
    if kind is Kind.TENSOR:
        return _tensor_address(value, name)
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    if kind not in (Kind.ARRAY, Kind.FOREIGN_ARRAY):
        raise LaunchError(
            f"argument `{name}`: a pointer parameter takes an array",
            table=[Row("argument", "a torch tensor or a NumPy array on the CPU", type(value).__name__)],
        )
    array = as_numpy(value, name)
    if array.dtype not in _KNOWN_GOOD:
        check_dtype(array.dtype, name)
    address, read_only = array.__array_interface__["data"]
    if read_only and written:
        raise LaunchError(
            f"argument `{name}`: the array is read-only, and the kernel may write to it",
            hint="pass a copy, or annotate the parameter as `tl.const` when it is only read",
        )
    return int(address)


def _tensor_address(tensor: Any, name: str) -> int:
    device = getattr(tensor, "device", None)
    if device is not None and getattr(device, "type", "cpu") != "cpu":
        raise elsewhere(name, str(device))
    try:
        address = int(tensor.data_ptr())
    except RuntimeError as e:  # torch: sparse tensors and those without storage have no address
        raise without_memory(tensor, name, str(e)) from e
    if not address and not is_empty(tensor):
        raise without_memory(tensor, name)
    return address


def elsewhere(name: str, where: str) -> LaunchError:
    """The error for memory of another device."""
    return LaunchError(
        f"argument `{name}`: the kernel runs on the CPU and cannot reach this memory",
        table=[Row("device", "cpu", where)],
        hint="move it with .cpu(); or let kernels run on the GPU: del tle_raw.knobs.target, unset TLE_RAW_TARGET",
    )


def memory_of(value: Any) -> Range:
    """The memory from an array's first element to its last. Of a bare address nothing is known: it may be anywhere."""
    if value is None:
        return Range(0, 0)
    if hasattr(value, "untyped_storage"):
        return _extent(value.data_ptr(), tuple(value.shape), value.stride(), value.element_size(), scale=True)
    if kind_of(value) in (Kind.ARRAY, Kind.FOREIGN_ARRAY):
        array = as_numpy(value, "")
        interface, size = array.__array_interface__, array.dtype.itemsize
        return _extent(interface["data"][0], array.shape, interface["strides"] or _dense(array.shape, size), size)
    base = getattr(value, "base", None)  # triton.reinterpret
    return ANYWHERE if base is None else memory_of(base)


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
