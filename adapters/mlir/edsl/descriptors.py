"""Tensor descriptors of the kernel in eDSL code: what ``tle_raw/descriptor.h`` gives to C++."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from tle_raw.adapters.mlir.edsl import memory
from tle_raw.adapters.mlir.edsl.barriers import (
    barrier_of,
    check_arrives,
    check_counts_bytes,
    shared_address,
    write_asm,
)
from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.intrinsics import Intrinsic
from tle_raw.adapters.mlir.edsl.types import I32, I64, DescriptorType, PointerType, TileType
from tle_raw.adapters.mlir.edsl.values import EdslValue
from tle_raw.errors import Row

_LONGEST = 256  # places of a box along an axis
_SWIZZLES, _SWIZZLE_ROWS = (128, 64, 32), 8
_MOST_AXES = 5


@Intrinsic
def descriptor_load(emit: Emitter, descriptor: Any, target: Any, bar: Any, *at: Any) -> None:
    """Begin a copy of a descriptor's block into a buffer of the kernel; its bytes count at a barrier.

    ``at`` says where the block begins, the outermost axis first. What lies beyond the array is padding.
    """
    type_, tile = _checked(emit, "descriptor_load", descriptor, target, at)
    memory.check_writable(emit, target)
    given = barrier_of(emit, "descriptor_load", bar)
    check_arrives(emit, given)
    map_, counted = emit.op("llvm.ptrtoint", (descriptor,), I64), shared_address(emit, given)
    for offset, places in _boxes(emit, type_, at):
        names = ", ".join(f"${3 + i}" for i in range(len(places)))
        text = f"cp.async.bulk.tensor.{len(places)}d.shared::cluster.global.mbarrier::complete_tx::bytes "
        text += f"[$0], [$1, {{{names}}}], [$2];"
        operands = (_part(emit, target, tile, offset), map_, counted, *places)
        write_asm(emit, text, ",".join(["r", "l", "r", *"r" * len(places)]), operands)


@Intrinsic
def descriptor_store(emit: Emitter, descriptor: Any, source: Any, *at: Any) -> None:
    """Begin a copy of a buffer of the kernel to a descriptor's block; ``wait_for_stores`` ends it."""
    type_, tile = _checked(emit, "descriptor_store", descriptor, source, at)
    map_ = emit.op("llvm.ptrtoint", (descriptor,), I64)
    for offset, places in _boxes(emit, type_, at):
        names = ", ".join(f"${2 + i}" for i in range(len(places)))
        text = f"cp.async.bulk.tensor.{len(places)}d.global.shared::cta.bulk_group [$1, {{{names}}}], [$0];"
        operands = (_part(emit, source, tile, offset), map_, *places)
        write_asm(emit, text, ",".join(["r", "l", *"r" * len(places)]), operands)
    write_asm(emit, "cp.async.bulk.commit_group;", "", ())


@Intrinsic
def wait_for_stores(emit: Emitter) -> None:
    """Until all copies to global memory that the calling thread began are done."""
    write_asm(emit, "cp.async.bulk.wait_group 0;", "", ())


def _checked(
    emit: Emitter, function: str, descriptor: Any, buffer: Any, at: tuple[Any, ...]
) -> tuple[DescriptorType, TileType]:
    if not isinstance(descriptor, EdslValue) or not isinstance(descriptor.type, DescriptorType):
        emit.mismatch(f"{function} takes a descriptor of the kernel", "a parameter that is a Descriptor", descriptor)
    type_ = descriptor.type
    if not isinstance(buffer, EdslValue) or not isinstance(buffer.type, TileType):
        emit.mismatch(f"{function} copies a buffer of the kernel", "a parameter that is a Buffer", buffer)
    tile = buffer.type
    if (tile.element, tile.dims) != (type_.element, type_.dims):
        emit.mismatch(f"{function} copies a descriptor's block", str(type_), str(tile), "buffer")
    if not 2 <= len(type_.dims) <= _MOST_AXES:
        emit.mismatch("the copy engine fills tiles of rank 2 to 5", "2 to 5", str(len(type_.dims)), "rank")
    if len(at) != len(type_.dims):
        emit.mismatch("a block begins at one place for each axis", str(len(type_.dims)), str(len(at)), "places")
    check_counts_bytes(emit, function)
    wanted = f"tle::nvmma<{_swizzle(type_)}>" if emit.target.backend == "cuda" else ""
    if tile.layout != wanted:
        emit.fail(
            "the buffer has not the layout of this descriptor's blocks",
            [Row("layout", wanted or "row-major", tile.layout or "row-major")],
            "tle.gpu.alloc's own for the same dims, and AnyLayout last in the parameter's type",
        )
    return type_, tile


def _swizzle(type_: DescriptorType) -> int:
    """Triton's rule: the widest, in bytes, that divides a row; none where there are fewer than eight rows."""
    row = type_.dims[-1] * type_.element.itemsize
    if prod(type_.dims[:-1]) < _SWIZZLE_ROWS:
        return 0
    return next((swizzle for swizzle in _SWIZZLES if row % swizzle == 0), 0)


def _boxes(emit: Emitter, type_: DescriptorType, at: tuple[Any, ...]) -> Iterator[tuple[int, list[EdslValue]]]:
    """Where each box lies in the buffer, in elements, and in the array: as PTX has it, the innermost axis first.

    On a GPU a box is as wide as the swizzle, and at most 256 long; elsewhere it is the block.
    """
    places = [emit.convert(emit.integer(place, f"place {axis}"), I32) for axis, place in enumerate(at)]
    rows, columns = prod(type_.dims[:-1]), type_.dims[-1]
    width, height = columns, type_.dims[0]
    if emit.target.backend == "cuda":
        swizzle = _swizzle(type_)
        width = min(columns, swizzle // type_.element.itemsize) if swizzle else columns
        height = min(height, _LONGEST)
    for column in range(0, columns, width):
        for row in range(0, type_.dims[0], height):
            here = [_shifted(emit, places[0], row), *places[1:]]
            here[-1] = _shifted(emit, here[-1], column)
            yield column * rows + row * prod(type_.dims[1:-1]) * width, here[::-1]


def _shifted(emit: Emitter, place: EdslValue, by: int) -> EdslValue:
    return emit.op("arith.addi", (place, emit.constant(by, I32)), I32) if by else place


def _part(emit: Emitter, buffer: EdslValue, tile: TileType, offset: int) -> EdslValue:
    """The address of an element in memory order."""
    first = EdslValue(buffer.handle, PointerType(tile.element, 3))
    place = memory.element_pointer(emit, first, emit.constant(offset, I32)) if offset else first
    return shared_address(emit, place)
