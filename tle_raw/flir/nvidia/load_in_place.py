"""Loads by pointers that are a buffer, or a part of one, become loads of the buffer where products take them.

A load by a pointer goes through registers, and Triton stores what a product takes into shared memory once more. Of a
load of the buffer it knows where the operand lies::

    %p = "tt.addptr"(%s, %place) {tle.part = "whole"} : ...    # %s from %buffer's address
    %x = "tt.load"(%p) <{...}> : (tensor<64x64x!tt.ptr<f16>>) -> tensor<64x64xf16>

    %x = "ttg.local_load"(%buffer) : (!ttg.memdesc<64x64xf16, ...>) -> tensor<64x64xf16>

Pointers to all elements in their order are noted as such when they are made. Those from indices of the kernel have a
note of where elements lie, ``8:32 64,8:1 2 4``: for each axis the smallest part into which it can be cut, and the
places of the indices 1, 2, 4, ..., of which every other place is put together by ``xor``. Their offsets are computed
here, and where they are a rectangle of the buffer, it is that part which is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from tle_raw.flir.nvidia.blocked_layout import read_tensor
from tle_raw.flir.nvidia.buffer_types import PREFIX, read_buffer_type
from tle_raw.flir.nvidia.constant_places import ConstantPlaces
from tle_raw.flir.nvidia.shared_pointers import ADDRESS, LOADS, SharedPointers
from tle_raw.linker.mlir.generic_operation import GenericOperation, read_generic
from tle_raw.linker.mlir.generic_tree import Operation, Value
from tle_raw.linker.mlir.text import split_top_level
from tle_raw.regions.ports import PART, WHOLE

_LOAD, _SUBSLICE = "ttg.local_load", "ttg.memdesc_subslice"
_DOT, _TRANS = "tt.dot", "tt.trans"
# Tensor cores up to sm_89 take fragments in registers, that are read from the buffer as they are wanted; those of sm_90
# read buffers, transposed ones too. From sm_100 on Triton copies what a load of a buffer gives to a product.
_HOPPER, _BLACKWELL = 90, 100
_TO_ADDRESS = ("tt.splat", "tt.int_to_ptr", "arith.extui", "tt.broadcast")
_MOST = 1 << 17  # elements of a tensor whose offsets are computed


def load_in_place(lines: list[str], pointers: SharedPointers, capability: int) -> set[Operation]:
    """Edit the lines of Triton IR in generic form; the accesses that are loads of buffers now."""
    found: set[Operation] = set()
    if capability >= _BLACKWELL:
        return found
    places = ConstantPlaces(_MOST)
    for access in pointers.accesses():
        is_plain = access.name in LOADS and len(access.operands) == 1 and access.operands[0] not in pointers.remote
        if not is_plain or not _feeds_product(access.results[0], swapped_too=capability >= _HOPPER):
            continue
        if (made := _loaded(lines, access, places)) is not None:
            lines[access.line] = "\n".join(made)
            found.add(access)
    return found


def _feeds_product(value: Value, *, swapped_too: bool) -> bool:
    """Whether a product takes it, and where it is transposed first, may do so."""
    is_operand = False
    for user in value.uses:
        if user.name == _TRANS:
            if not swapped_too:
                return False
            is_operand |= _feeds_product(user.results[0], swapped_too=True)
        is_operand |= user.name == _DOT
    return is_operand


def _loaded(lines: Sequence[str], access: Operation, places: ConstantPlaces) -> list[str] | None:
    """The load of the buffer, behind the view of its part; None where the pointers are neither."""
    made = access.operands[0].definition
    load = read_generic(lines[access.line])
    if made is None or PART not in made.details or "isVolatile = true" in load.properties:
        return None
    buffer = _buffer(made.operands[0])
    note = read_generic(lines[made.line]).attribute(PART).strip('"')
    if buffer is None or not note:
        return None
    given = load._replace(name=_LOAD, operands=(buffer.name,), types=(buffer.type,), properties="")
    shape, _ = read_tensor(load.result_types[0])
    if note == WHOLE:
        return [str(given)]
    offsets = places.numbers(made.operands[1])
    start = None if offsets is None else _start([_axis(text) for text in note.split(",")], offsets, shape)
    if start is None:
        return None
    if not any(start) and read_buffer_type(buffer.type, {}).dims == shape:
        return [str(given)]
    name, type_ = f"%tle_part_{access.line}", _part(buffer.type, shape)
    view = GenericOperation(
        _SUBSLICE, (buffer.name,), (buffer.type,), (type_,), name,
        f"offsets = array<i32: {', '.join(map(str, start))}>", indent=load.indent, location=load.location,
    )  # fmt: skip
    return [str(view), str(given._replace(operands=(name,), types=(type_,)))]


def _buffer(value: Value) -> Value | None:
    """Whose address a pointer is made of."""
    while (operation := value.definition) is not None:
        if operation.name.startswith(ADDRESS):
            return operation.operands[0]
        if operation.name not in _TO_ADDRESS:
            return None
        value = operation.operands[0]
    return None


def _part(buffer: str, shape: Sequence[int]) -> str:
    """The type of a part of a buffer, which ends with the shape of what it is a part of."""
    known = read_buffer_type(buffer, {})
    _, *rest = (part.strip() for part in split_top_level(buffer.removeprefix(PREFIX)[:-1]))
    whole = [] if rest[-1].replace("x", "").isdecimal() else ["x".join(map(str, known.dims))]
    return f"{PREFIX}{', '.join(['x'.join([*map(str, shape), known.element]), *rest, *whole])}>"


# --- rectangles -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Axis:
    """Of a buffer: the smallest part into which it can be cut, and the places of the indices 1, 2, 4, ..."""

    smallest: int
    bases: tuple[int, ...]

    @property
    def dim(self) -> int:
        return 1 << len(self.bases)

    def place(self, index: int) -> int:
        place = 0
        for bit, base in enumerate(self.bases):
            place ^= base if index >> bit & 1 else 0
        return place


def _axis(text: str) -> _Axis:
    smallest, _, bases = text.partition(":")
    return _Axis(int(smallest), tuple(map(int, bases.split())))


def _start(axes: Sequence[_Axis], offsets: list[int], shape: Sequence[int]) -> tuple[int, ...] | None:
    """Where the rectangle begins whose elements have these offsets, row by row; None where they are none."""
    if len(shape) != len(axes) or any(min(axis.smallest, axis.dim) > dim for axis, dim in zip(axes, shape)):
        return None
    rectangle = _offsets(axes, shape)
    if len(rectangle) != len(offsets):
        return None
    for start in product(*(range(0, axis.dim, dim) for axis, dim in zip(axes, shape))):
        first = 0
        for axis, index in zip(axes, start):
            first ^= axis.place(index)
        if first == offsets[0]:
            return start if all(first ^ each == offset for each, offset in zip(rectangle, offsets)) else None
    return None


def rectangle(note: str, start: Sequence[int], shape: Sequence[int]) -> frozenset[int]:
    """Where the elements of a rectangle lie that begins at a multiple of its shape; ``note`` is that of pointers."""
    axes, first = [_axis(text) for text in note.split(",")], 0
    for axis, index in zip(axes, start, strict=True):
        first ^= axis.place(index)
    return frozenset(first ^ each for each in _offsets(axes, shape))


def _offsets(axes: Sequence[_Axis], shape: Sequence[int]) -> list[int]:
    """Of the rectangle at the beginning, row by row."""
    found = [0]
    for axis, dim in zip(reversed(axes), reversed(shape)):
        for base in axis.bases[: dim.bit_length() - 1]:
            found += [each ^ base for each in found]
    return found
