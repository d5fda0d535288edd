"""TMA descriptors by the CUDA driver: 128 bytes from the numbers that describe a tensor and its boxes."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

from tle_raw.adapters.tilelang.linked.descriptors import BYTES, TILED, Fields
from tle_raw.errors import LaunchError, Row, ToolchainError

_ALIGNMENT = 16  # of a tensor's address and of its strides, without interleaving
_LIBRARIES = ("libcuda.so.1", "libcuda.so")
_MOST_STRIDE, _MOST_BOX = 1 << 40, 256


def encode(name: str, fields: Fields, address: int) -> bytes:
    """The descriptor of the tensor at ``address``.

    Raises
    ------
    LaunchError : the tensor is none that TMA can copy: its address, a stride or a box breaks the driver's rules.
    ToolchainError : there is no driver, or one older than CUDA 12.
    """
    _check(name, fields, address)
    memory = ctypes.create_string_buffer(BYTES + 64)
    start = ctypes.addressof(memory)
    aligned = (start + 63) & ~63  # the driver wants its 64 bytes
    rank = len(fields.sizes)
    common = (ctypes.c_void_p(aligned), ctypes.c_uint(fields.dtype), ctypes.c_uint(rank), ctypes.c_void_p(address))
    sizes, strides = _array(ctypes.c_uint64, fields.sizes), _array(ctypes.c_uint64, fields.strides)
    steps = _array(ctypes.c_uint32, fields.steps)
    rest = [ctypes.c_uint(v) for v in (fields.interleave, fields.swizzle, fields.promotion, fields.fill)]
    if fields.kind == TILED:
        status = _function("cuTensorMapEncodeTiled")(
            *common, sizes, strides, _array(ctypes.c_uint32, fields.box), steps, *rest
        )
    else:
        lower, upper = _array(ctypes.c_int, fields.lower), _array(ctypes.c_int, fields.upper)
        channels, pixels = ctypes.c_uint32(fields.channels), ctypes.c_uint32(fields.pixels)
        status = _function("cuTensorMapEncodeIm2col")(
            *common, sizes, strides, lower, upper, channels, pixels, steps, *rest
        )
    if status != 0:
        raise LaunchError(
            f"the CUDA driver refused a TMA descriptor for `{name}` (error {status})",
            table=[Row(field, "", str(value)) for field, value in vars(fields).items() if value != ()],
            hint="launch the region with route='linked' and tma=False",
        )
    return memory.raw[aligned - start : aligned - start + BYTES]


def _check(name: str, fields: Fields, address: int) -> None:
    """What the driver would refuse with a number only."""
    rows = []
    if address % _ALIGNMENT:
        rows.append(Row("address", f"a multiple of {_ALIGNMENT}", hex(address)))
    for stride in fields.strides:
        if stride % _ALIGNMENT or not 0 <= stride < _MOST_STRIDE:
            rows.append(Row("stride in bytes", f"a multiple of {_ALIGNMENT} below 2^40", str(stride)))
    rows += [Row("size", "1 to 2^32", str(n)) for n in fields.sizes if not 0 < n <= 1 << 32]
    rows += [Row("box", f"1 to {_MOST_BOX}", str(n)) for n in fields.box if not 0 < n <= _MOST_BOX]
    if rows:
        raise LaunchError(
            f"TMA cannot copy from or to the array of `{name}`",
            table=rows,
            hint="pass an array that is aligned, with rows of a multiple of 16 bytes; or leave tma= out",
        )


def _array(kind: Any, values: Sequence[int]) -> Any:
    return (kind * max(1, len(values)))(*values)


@functools.cache
def _driver() -> ctypes.CDLL:
    for library in _LIBRARIES:
        try:
            return ctypes.CDLL(library)
        except OSError:
            continue
    raise ToolchainError(
        "TMA descriptors are made by the CUDA driver, and there is none", hint="install NVIDIA's driver"
    )


def _function(name: str) -> Any:
    try:
        return getattr(_driver(), name)
    except AttributeError:
        raise ToolchainError(f"the CUDA driver has no {name}", hint="install the driver of CUDA 12 or newer") from None
