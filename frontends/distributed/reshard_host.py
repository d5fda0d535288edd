"""``tle_raw.distributed.reshard_part``: a device's part of a tensor gets another sharding, by one launch on each."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import triton
import triton.language as tl

from tle_raw.errors import MeshError, Row
from tle_raw.frontends.distributed.own_parts import make_sharded_tensor
from tle_raw.frontends.distributed.parts import largest_part
from tle_raw.frontends.distributed.reshard import AUTO, reshard
from tle_raw.frontends.distributed.reshard_plan import plan
from tle_raw.frontends.distributed.sharding import ShardingSpec

_MOST_DIMS = 4
_PROGRAMS = 128  # enough to fill the links between GPUs
_TILE_ELEMENTS = 4096


@triton.jit(do_not_specialize=["n0", "n1", "n2", "n3"])  # type: ignore[untyped-decorator]
def reshard_kernel(  # type: ignore[no-untyped-def]
    context, tensor, out, n0, n1, n2, n3,
    BEFORE: tl.constexpr, AFTER: tl.constexpr, TILE: tl.constexpr, ALGORITHM: tl.constexpr, ALIGN: tl.constexpr
):  # fmt: skip
    """Move a tensor of ``len(TILE)`` dims of these sizes from one sharding to the other."""
    if len(TILE) == 1:
        part = make_sharded_tensor(tensor, BEFORE, (n0,))
    elif len(TILE) == 2:
        part = make_sharded_tensor(tensor, BEFORE, (n0, n1))
    elif len(TILE) == 3:
        part = make_sharded_tensor(tensor, BEFORE, (n0, n1, n2))
    else:
        part = make_sharded_tensor(tensor, BEFORE, (n0, n1, n2, n3))
    reshard(part, AFTER, context=context, out=out, tile=TILE, algorithm=ALGORITHM, align=ALIGN)


def reshard_part(
    context: Any,
    part: Any,
    before: ShardingSpec,
    after: ShardingSpec,
    shape: Sequence[int],
    out: Any,
    algorithm: str = AUTO,
    programs: int | None = None,
    loads_only: bool = False,
) -> None:
    """Give a tensor of which this device has a part another sharding. All devices of the context call it.

    Parameters
    ----------
    context : of ``tle_raw.distributed.context`` or ``simulate``.
    part : this device's part, in the context's memory: ``context.empty(largest_part(before, shape), dtype)``. The
        elements of a smaller part are the first ones along each dim.
    before, after : the shardings, over one mesh of devices.
    shape : of the whole tensor, 1 to 4 dims.
    out : where the new part goes, of the shape ``largest_part(after, shape)``; for sums that are added in two steps it
        lies in the context's memory.
    algorithm : as ``tle.reshard`` has it.
    programs : of the launch; by default as many as there are tiles, and 128 at most.
    loads_only : compile, and load the code, and launch nothing: where one process drives several GPUs, so that none
        loads code while another one waits for it.

    Raises
    ------
    MeshError : shardings that do not fit each other or the tensor.
    """
    sizes = tuple(shape)
    change = plan(before, after, len(sizes))
    if not 1 <= len(sizes) <= _MOST_DIMS:
        raise MeshError("so many dims are not moved", table=[Row("shape", f"1 to {_MOST_DIMS} sizes", repr(sizes))])
    for what, array, spec in (("part", part, before), ("out", out, after)):
        wanted = largest_part(spec, sizes)
        if tuple(array.shape) != wanted:
            raise MeshError(
                f"`{what}` is as large as the largest part", table=[Row(what, repr(wanted), repr(tuple(array.shape)))]
            )
    old, new = largest_part(before, sizes), largest_part(after, sizes)
    tile = tile_of(tuple(min(a, b) for a, b in zip(old, new, strict=True)))
    if programs is None:
        count = change.pieces * prod(-(-size // step) for size, step in zip(new, tile, strict=True))
        programs = max(1, min(_PROGRAMS, count))
    numbers = (*sizes, *(1,) * (_MOST_DIMS - len(sizes)))
    align = change.alignment(sizes)
    arguments = (context, part, out, *numbers, before, after, tile, algorithm, align)
    if loads_only:
        reshard_kernel.warmup(*arguments, grid=(programs,))._init_handles()
    else:
        reshard_kernel[(programs,)](*arguments)


def tile_of(shape: Sequence[int]) -> tuple[int, ...]:
    """Tiles of 4096 elements at most that cover such a part, long rows first."""
    rest, tile = _TILE_ELEMENTS, []
    for size in reversed(shape):
        tile.append(min(rest, triton.next_power_of_2(max(size, 1))))
        rest //= tile[-1]
    return tuple(reversed(tile))
