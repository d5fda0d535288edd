"""``tle.reshard``: tensors that members of a mesh have parts of get another sharding, inside kernels."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, MeshTypeError, Row, TileIndexError
from tle_raw.frontends.distributed.device_language import device_barrier
from tle_raw.frontends.distributed.device_ranks import HOST_LEVELS
from tle_raw.frontends.distributed.folding import Folding
from tle_raw.frontends.distributed.member_places import CLUSTER
from tle_raw.frontends.distributed.own_parts import is_block
from tle_raw.frontends.distributed.reshard_moves import (
    move_all,
    move_by_size,
    new_size,
    number_of_copies,
    own_copy,
)
from tle_raw.frontends.distributed.reshard_peers import check_levels, own_places
from tle_raw.frontends.distributed.reshard_plan import Plan, plan
from tle_raw.frontends.distributed.reshard_ranges import largest
from tle_raw.frontends.distributed.reshard_tiles import Tiles
from tle_raw.frontends.distributed.reshard_view import resharded_tensor, sharded_tensor
from tle_raw.frontends.distributed.sharding import ShardingSpec
from tle_raw.frontends.distributed.shared_parts import block_shape, meet, shared
from tle_raw.frontends.distributed.traced_call import checked_context
from tle_raw.frontends.gpu.checks import is_buffer
from tle_raw.frontends.lite.arguments import describe_value, is_integer, is_scalar_integer, items, plain
from tle_raw.frontends.lite.kernel_function import kernel_function
from tle_raw.frontends.lite.traced_call import call_kernel_function

AUTO, ONE_SHOT, TWO_SHOT = "auto", "one_shot", "two_shot"
# A sum of more bytes than this is worth to be added once for all members, who then send each other what they added.
TWO_SHOT_BYTES = 1 << 19
_TILE_ELEMENTS = 4096


@kernel_function
def reshard(
    tensor: Any,
    spec: Any,
    context: Any = None,
    out: Any = None,
    tile: Any = None,
    algorithm: Any = AUTO,
    align: Any = None,
    _semantic: Any = None,
    _generator: Any = None,
) -> Any:
    """Give a tensor another sharding: parts are gathered, cut, exchanged and added as ``transitions`` names it.

    Of a block tensor, which each block of a cluster has, it is the block tensor of the new part, exchanged through
    shared memory with barriers of the cluster around.

    Of a pointer or a buffer it is a *view*: nothing is moved. ``view.tile(index, shape)`` loads a tile of this member's
    new part from the members that have it, so that in a loop its transfer overlaps with the ``tl.dot`` before. Barriers
    are the kernel's: ``tle.distributed_barrier`` before the first tile, and behind the last one before somebody writes
    the old parts again.

    With ``out`` all programs of the launch together move the whole part there, with barriers between the programs of
    the same number on all members, before and after. What is read must have been written before the launch.

    Sums are added in float32 (float64 for its own, integers in 32 or 64 bits) in the order of the mesh, the last axis
    running fastest, so that all members get the same bits.

    Parameters
    ----------
    tensor : of ``tle.make_sharded_tensor``.
    spec : the sharding that is wanted, over the same mesh; a constant.
    context : what reaches the other GPUs, for pointers; an argument of the kernel.
    out : a pointer to the first element of the new part, whose rows are as long as those of the largest one.
    tile : the shape of the tiles that are moved, powers of two; by default 4096 elements.
    algorithm : of sums that all members get: ``"one_shot"`` reads and adds all of them on every member; ``"two_shot"``
        adds a share on each and writes it to all others, for which ``out`` lies in the context's memory at the same
        place for all. ``"auto"`` is two_shot above 512 KiB if ``out`` lies there and more than two members add.
    align : elements, a power of two of 16 at most, that divide every size of a part's last dim and where it begins. It
        is found where the shape is known; else a promise that makes loads wider.

    Returns
    -------
    The block tensor, the view, or with ``out`` the sharded tensor there.

    Raises
    ------
    MeshError : shardings of two meshes or ranks, or axes that the handle does not reach. MeshTypeError : no sharding.
    ArgumentTypeError : an argument of another kind.
    """
    given = plain(tensor)
    if not isinstance(given, sharded_tensor):
        raise ArgumentTypeError(
            "tle.reshard: it is not known what this member has of the tensor",
            table=[Row("tensor", "tle.make_sharded_tensor(…)", describe_value(tensor))],
        )
    wanted = plain(spec)
    if not isinstance(wanted, ShardingSpec):
        raise MeshTypeError(
            "tle.reshard: the sharding that is wanted",
            table=[Row("spec", "tle.sharding(…), as a tl.constexpr", describe_value(spec))],
        )
    change = plan(given.sharding, wanted, len(given.sizes))
    if is_block(given.handle):
        return _among_blocks(given, change, _semantic, _generator)
    view = view_of(given, change, plain(context), plain(align), _semantic, _generator)
    if plain(out) is None:
        return view
    return _moved(view, plain(out), items(tile), plain(algorithm), _semantic, _generator)


def tile(view: resharded_tensor, index: Any, shape: Any, _semantic: Any = None, _generator: Any = None) -> core.tensor:
    """A tile of this member's new part, as a block tensor: loaded from the members that have it. Zeros lie beyond.

    Parameters
    ----------
    index : for each dim the number of the tile: tile ``i`` begins at ``i * shape`` of the part. Integers or scalars.
    shape : of the tile, powers of two; constants.

    Raises
    ------
    ArgumentTypeError, TileIndexError : another number of dims, or what is no integer.
    """
    sizes, numbers, rank = tile_shape(view, shape), items(index), view.plan.rank
    if numbers is None or len(numbers) != rank or not all(is_integer(n) or is_scalar_integer(n) for n in numbers):
        raise TileIndexError(
            "a tile has a number along each dim", table=[Row("index", f"{rank} integers", describe_value(index))]
        )
    tiles = Tiles(view, _semantic, _generator)
    offsets = [tiles.folding.multiply(number, size) for number, size in zip(numbers, sizes, strict=True)]
    return tiles.load(tiles.tile(offsets, sizes), [_lies_in_one_part(view, dim, sizes[dim]) for dim in range(rank)])


def tile_shape(view: resharded_tensor, shape: Any) -> tuple[int, ...]:
    """Raises ArgumentTypeError for what is no shape of a tile of this tensor."""
    sizes, rank = items(shape), view.plan.rank
    if sizes is None or len(sizes) != rank or not all(is_integer(s) and s > 0 and s & (s - 1) == 0 for s in sizes):
        raise ArgumentTypeError(
            "a tile's shape is powers of two", table=[Row("shape", f"{rank} of them", describe_value(shape))]
        )
    return tuple(sizes)


def _lies_in_one_part(view: resharded_tensor, dim: int, size: int) -> bool:
    """Whether each tile of this size lies within one old part, by sizes that are known: all parts are whole tiles."""
    change, length = view.plan, view.sizes[dim]
    if not change.searched[dim] or set(change.split(change.before, dim)) & set(change.pads):
        return False
    if not isinstance(length, int):
        return False
    for spec in (change.before, change.after):
        rest = length
        for count in change.sizes(change.split(spec, dim)):
            if rest % count:
                return False
            rest //= count
        if rest % size:
            return False
    return True


def view_of(
    given: sharded_tensor, change: Plan, context: Any, align: Any, semantic: Any, generator: Any
) -> resharded_tensor:
    mesh = change.before.mesh
    if align is None:
        align = change.alignment(given.sizes)
    if not (is_integer(align) and 1 <= align <= 16 and align & (align - 1) == 0):
        raise ArgumentTypeError(
            "tle.reshard: an alignment", table=[Row("align", "1, 2, 4, 8 or 16", describe_value(align))]
        )
    if is_buffer(given.handle):
        check_levels(change, [CLUSTER], "a buffer in shared memory")
        places = own_places(mesh, None, semantic, generator)
        return resharded_tensor(change, given.handle, given.sizes, places, align, None)
    if not (isinstance(given.handle, core.tensor) and given.handle.dtype.is_ptr() and not given.handle.type.is_block()):
        raise ArgumentTypeError(
            "tle.reshard: what a member has of a tensor",
            table=[Row("handle", "a pointer or a buffer", describe_value(given.handle))],
        )
    check_levels(change, HOST_LEVELS, "a pointer")
    context = checked_context("reshard", context)
    places = own_places(mesh, context, semantic, generator)
    return resharded_tensor(change, given.handle, given.sizes, places, align, context)


def _among_blocks(given: sharded_tensor, change: Plan, semantic: Any, generator: Any) -> core.tensor:
    """The new part of a block tensor, by way of shared memory."""
    check_levels(change, [CLUSTER], "a block tensor")
    mesh = change.before.mesh
    view = view_of(shared(given, semantic, generator), change, None, None, semantic, generator)
    shape = block_shape("reshard", largest(Folding(semantic), change, change.after, given.sizes, 1))
    meet(mesh, semantic, generator)
    tiles = Tiles(view, semantic, generator)
    found = tiles.load(tiles.tile([0] * len(shape), shape), [False] * len(shape))
    meet(mesh, semantic, generator)
    return found


def _moved(
    view: resharded_tensor, out: Any, tile: Any, algorithm: Any, semantic: Any, generator: Any
) -> sharded_tensor:
    """Move the whole part to ``out``."""
    if view.context is None:
        raise ArgumentTypeError("tle.reshard: `out` is for tensors in GPUs' memory; of a buffer take tiles")
    if not (isinstance(out, core.tensor) and out.dtype == view.handle.dtype and not out.type.is_block()):
        raise ArgumentTypeError(
            "tle.reshard: where the new part goes", table=[Row("out", str(view.handle.dtype), describe_value(out))]
        )
    if algorithm not in (AUTO, ONE_SHOT, TWO_SHOT):
        raise ArgumentTypeError(
            "tle.reshard: its algorithms",
            table=[Row("algorithm", f"{AUTO}, {ONE_SHOT}, {TWO_SHOT}", describe_value(algorithm))],
        )
    folding, mesh = Folding(semantic), view.plan.before.mesh
    shape = tile_shape(view, tile) if tile is not None else default_tile(view.plan.rank)
    meets = view.plan.changed
    traced = {"semantic": semantic, "generator": generator}
    if meets:
        device_barrier(mesh, view.context, "sync", {"axes": meets}, semantic, generator)
    program, programs = _program(folding, semantic)
    copies, limit = number_of_copies(view), TWO_SHOT_BYTES * 8 // view.handle.dtype.element_ty.primitive_bitwidth
    size = new_size(view, folding)
    if algorithm == AUTO and copies <= 2:
        algorithm = ONE_SHOT
    if algorithm == AUTO and isinstance(size, int) and size <= limit:
        algorithm = ONE_SHOT
    if algorithm == AUTO:
        numbers = [program, programs, folding.tensor(own_copy(view, folding)), copies, size, limit]
        call_kernel_function(move_by_size, view.context, view, out, *numbers, shape, **traced)
    else:
        to_all = algorithm == TWO_SHOT and copies > 1
        if to_all:
            program = folding.add(folding.multiply(program, copies), own_copy(view, folding))
            programs = folding.multiply(programs, copies)
        call_kernel_function(move_all, view, out, program, programs, shape, to_all, **traced)
    if meets:
        device_barrier(mesh, view.context, "sync", {"axes": meets}, semantic, generator)
    return sharded_tensor(out, view.plan.after, view.sizes)


def default_tile(rank: int) -> tuple[int, ...]:
    """Tiles of 4096 elements, most of them along the last dim."""
    if rank == 1:
        return (_TILE_ELEMENTS,)
    return (*(1,) * (rank - 2), _TILE_ELEMENTS // 256, 256)


def _program(folding: Folding, semantic: Any) -> tuple[Any, Any]:
    """The number of this program in its launch, and how many there are."""
    number: Any = 0
    total: Any = 1
    for axis in (2, 1, 0):
        count = semantic.num_programs(axis)
        number = folding.add(folding.multiply(number, count), semantic.program_id(axis))
        total = folding.multiply(total, count)
    return number, total


resharded_tensor.tile = kernel_function(tile, "reshard(…).tile")
