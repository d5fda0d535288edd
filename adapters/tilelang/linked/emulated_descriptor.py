"""TMA descriptors for a target that emulates a GPU: the bytes of a tensor map as ``team/tensor_map.h`` has it."""

from __future__ import annotations

import struct

from tle_raw.adapters.tilelang.linked.descriptors import TILED, Fields
from tle_raw.errors import Row, UnsupportedFeatureError

BYTES = 192  # from one to the next; a map takes 152 of them
_AXES = 5
# Bytes of an element, by the driver's number of its type; and NaN, with which a descriptor may fill, of the floats.
_ITEMSIZES = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)
_NANS = {6: 0x7FFF, 7: 0x7FFFFFFF, 8: 0x7FFFFFFFFFFFFFFF, 9: 0x7FFF, 10: 0x7FFFFFFF, 11: 0x7FFFFFFF, 12: 0x7FFFFFFF}
_SWIZZLES = 4  # none, and over 32, 64 and 128 bytes


def emulated_descriptor(name: str, fields: Fields, address: int) -> bytes:
    """The map of the tensor at ``address``.

    Raises
    ------
    UnsupportedFeatureError : it copies otherwise than by boxes of neighbours.
    """
    rows = []
    if fields.kind != TILED:
        rows.append(Row("kind", TILED, fields.kind))
    if any(step != 1 for step in fields.steps):
        rows.append(Row("steps", "1", str(fields.steps)))
    if fields.interleave:
        rows.append(Row("interleave", "0", str(fields.interleave)))
    if not fields.swizzle < _SWIZZLES:
        rows.append(Row("swizzle", f"below {_SWIZZLES}", str(fields.swizzle)))
    if not fields.dtype < len(_ITEMSIZES):
        rows.append(Row("dtype", f"below {len(_ITEMSIZES)}", str(fields.dtype)))
    if rows:
        raise UnsupportedFeatureError(f"a TMA descriptor of `{name}` is of a form that the CPU has not", table=rows)
    itemsize = _ITEMSIZES[fields.dtype]
    fill = _NANS.get(fields.dtype, 0) if fields.fill else 0
    strides = (1, *(stride // itemsize for stride in fields.strides))
    words = [word for numbers in (fields.sizes, strides, fields.box) for word in _outermost_first(numbers)]
    head = struct.pack("<QQiiq", address, fill, len(fields.sizes), fields.swizzle, itemsize)
    return (head + struct.pack(f"<{len(words)}q", *words)).ljust(BYTES, b"\0")


def _outermost_first(numbers: tuple[int, ...]) -> list[int]:
    return [*reversed(numbers), *[0] * (_AXES - len(numbers))]
