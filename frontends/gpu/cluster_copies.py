"""What is sent to another block of the cluster without threads that carry it: bytes of a buffer, and arrivals."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row, ShapeError, SharedBufferError
from tle_raw.frontends.gpu import content, operations
from tle_raw.frontends.gpu.barrier_value import COUNTING, barrier, check_kind
from tle_raw.frontends.gpu.capability import BLACKWELL, capability_of
from tle_raw.frontends.gpu.checks import check_buffer, is_buffer
from tle_raw.frontends.gpu.cluster_buffer import cluster_buffer
from tle_raw.frontends.gpu.cluster_functions import mapped, write
from tle_raw.frontends.gpu.local_ptr import local_ptr
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.lite.arguments import describe_value, plain
from tle_raw.regions.clusters import COPY, SIGNAL
from tle_raw.regions.partitions import DEFAULT, current_partition, warps_here
from tle_raw.regions.stages import compiled_target, note_pointers

_RUN = 16  # bytes that a copy is a multiple of
_MOST_BYTES = (1 << 20) - 1


def arrive_at(remote: cluster_buffer, count: int, semantic: Any, generator: Any) -> None:
    """Arrive at a barrier of another block: what was done before is done for whoever waits for it there."""
    one = _barrier("barrier_arrive", remote)
    check_kind("barrier_arrive", one, COUNTING)
    record = {"cluster": remote.blocks, "count": count, "bytes": 0, "warps": _warps(semantic)}
    address = mapped(address_of(one, semantic, generator), remote, semantic)
    write(SIGNAL, [address], core.int32, record, semantic)


def copy_to_block(
    src: Any, dst: cluster_buffer, dims: tuple[int, ...], bar: Any, semantic: Any, generator: Any
) -> None:
    """Copy a buffer into another block's. The copy is an arrival at a barrier of that block, when its bytes are there.

    Raises
    ------
    ArgumentTypeError, ShapeError : two buffers of other shapes, dtypes or layouts, or no barrier of the other block.
    SharedBufferError : a part of a buffer, which does not lie in one piece.
    """
    own = check_buffer("copy", "src", src)
    target = dst.own
    if not is_buffer(target):
        raise ArgumentTypeError(
            "tle.gpu.copy: a buffer is copied into another block's",
            table=[Row("dst", "a buffer of another block", str(dst.type))],
        )
    if own.type.dtype != target.type.dtype or own.layout != target.layout:
        raise ArgumentTypeError(
            "tle.gpu.copy: the other block's buffer has the same dtype and layout",
            table=[Row("dst", f"{own.type}, {own.layout.text}", f"{target.type}, {target.layout.text}")],
        )
    if not dims == own.type.shape == target.type.shape:
        raise ShapeError(
            "tle.gpu.copy copies a whole buffer into another block's",
            table=[Row("shape", str(list(own.type.shape)), f"{list(dims)}, into {list(target.type.shape)}")],
        )
    size = own.type.bytes
    if own.type.is_part or target.type.is_part or size % _RUN or size > _MOST_BYTES:
        raise SharedBufferError(
            "tle.gpu.copy: what goes to another block lies in one piece, of a multiple of 16 bytes",
            table=[Row("buffer", f"whole, at most {_MOST_BYTES} bytes", f"{own.type}, {size} bytes")],
            hint="a slot of a buffer is whole; or store by tle.gpu.local_ptr(tle.remote(...), ...)",
        )
    given = plain(bar)
    if not isinstance(given, cluster_buffer):
        raise ArgumentTypeError(
            "tle.gpu.copy: a copy into another block's buffer arrives at a barrier of that block",
            table=[Row("barrier", "tle.remote(barrier, shard)", describe_value(bar))],
        )
    check_kind("copy", _barrier("copy", given), COUNTING)
    if compiled_target() != "cuda":
        _store_there(own, dst, semantic, generator)
        arrive_at(given, 1, semantic, generator)
        return
    operands = [
        mapped(address_of(target, semantic, generator), dst, semantic),
        address_of(own, semantic, generator),
        mapped(address_of(given.own, semantic, generator), given, semantic),
    ]
    record = {"cluster": dst.blocks, "bytes": size, "warps": _warps(semantic)}
    write(COPY, operands, core.int32, record, semantic)


def _store_there(own: Any, dst: cluster_buffer, semantic: Any, generator: Any) -> None:
    """Where no engine copies."""
    value = content.load(own, _semantic=semantic, _generator=generator)
    pointers = local_ptr(dst, _semantic=semantic, _generator=generator)
    core.store(pointers, value, _semantic=semantic)


def address_of(own: Any, semantic: Any, generator: Any) -> core.tensor:
    """Where a buffer or a barrier lies in this block's shared memory."""
    note_pointers()
    if isinstance(own, barrier):
        address = perform(operations.BARRIER_ADDRESS, semantic, generator, own.handle)
    else:
        address = perform(operations.LOCAL_TOLD, semantic, generator, own.type, own.handle, operations.ADDRESS)
    return core.tensor(address, core.int64)


def _barrier(function: str, remote: cluster_buffer) -> barrier:
    if not isinstance(remote.own, barrier):
        raise ArgumentTypeError(
            f"tle.gpu.{function}: it is no barrier of another block",
            table=[Row("bar", "tle.remote(barriers[i], shard)", str(remote.type))],
        )
    return remote.own


def _warps(semantic: Any) -> int:
    """Of the partition that does it, or of the block: one of their threads is told by their number."""
    partition, warps = current_partition(), warps_here(semantic.builder.options.num_warps)
    is_uncertain = partition is not None and partition.number != DEFAULT and warps > 1
    if compiled_target() == "cuda" and is_uncertain and capability_of(semantic) in BLACKWELL:
        raise ArgumentTypeError(
            "tle.gpu: on this GPU Triton may run a worker with fewer warps than asked for, and one thread of them "
            "reaches another block",
            table=[Row("worker_num_warps", "1", str(warps))],
        )
    return warps
