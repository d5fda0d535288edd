"""A whole part at a time: all programs of a launch move the tiles of a resharded tensor to where it is wanted."""

from __future__ import annotations

from itertools import product
from typing import Any

import triton
import triton.language as tl
from triton.language import core

from tle_raw.frontends.distributed import context_layout
from tle_raw.frontends.distributed.device_memory import rank_of, region_of
from tle_raw.frontends.distributed.folding import Folding
from tle_raw.frontends.distributed.reshard_peers import pointer_of
from tle_raw.frontends.distributed.reshard_ranges import largest, ranges
from tle_raw.frontends.distributed.reshard_tiles import Tile, Tiles
from tle_raw.frontends.distributed.reshard_view import resharded_tensor
from tle_raw.frontends.lite.arguments import items, plain
from tle_raw.frontends.lite.kernel_function import kernel_function

_BYTES = tl.constexpr(context_layout.BYTES)


@triton.jit  # type: ignore[untyped-decorator]
def move_all(view, out, program, programs, TILE: tl.constexpr, TO_COPIES: tl.constexpr):  # type: ignore[no-untyped-def]
    """Move all tiles whose numbers are ``program`` and so on in steps of ``programs``."""
    for number in range(program, tiles_of(view, TILE), programs):
        move(view, out, number, TILE, TO_COPIES)


@triton.jit  # type: ignore[untyped-decorator]
def move_by_size(  # type: ignore[no-untyped-def]
    context, view, out, program, programs, copy, copies: tl.constexpr, size, LIMIT: tl.constexpr, TILE: tl.constexpr
):
    """In two steps above LIMIT elements, if ``out`` lies in the context's memory; else in one."""
    place = out.to(tl.int64) - region_of(context, rank_of(context))
    if (size > LIMIT) & (place >= 0) & (place < tl.load(context + _BYTES)):
        move_all(view, out, program * copies + copy, programs * copies, TILE, True)
    else:
        move_all(view, out, program, programs, TILE, False)


def number_of_copies(view: resharded_tensor) -> int:
    """How many members get the same sum."""
    count = 1
    for size in view.plan.sizes(view.plan.copies):
        count *= size
    return count


def own_copy(view: resharded_tensor, folding: Folding) -> Any:
    """This member's number among those that get the same sum."""
    number: Any = 0
    for name, size in zip(view.plan.copies, view.plan.sizes(view.plan.copies), strict=True):
        number = folding.add(folding.multiply(number, size), view.places[name])
    return number


def new_size(view: resharded_tensor, folding: Folding) -> Any:
    """How many elements the largest new part has; 64 bits wide where it is computed."""
    size: Any = 1
    for length in largest(folding, view.plan, view.plan.after, view.sizes, view.align):
        size = folding.multiply(size, folding.wide(length))
    return size


@kernel_function
def tiles_of(view: Any, TILE: Any, _semantic: Any = None, _generator: Any = None) -> Any:
    """How many numbers of tiles there are, of all pieces that a new part may be made of."""
    folding = Folding(_semantic)
    total: Any = view.plan.pieces if _by_pieces(view) else 1
    for count in _counts(view, folding, items(TILE)):
        total = folding.multiply(total, count)
    return folding.tensor(total)


@kernel_function
def move(
    view: Any, out: Any, number: Any, TILE: Any, TO_COPIES: Any, _semantic: Any = None, _generator: Any = None
) -> None:
    """Load tile ``number`` and store it to the new part, or to those of all members that get the same sum."""
    tiles, shape = Tiles(view, _semantic, _generator), items(TILE) or []
    folding = tiles.folding
    rest, places = number, []
    for count in reversed(_counts(view, folding, shape)):
        places.append(folding.rest(rest, count))
        rest = folding.divide(rest, count)
    steps = [folding.multiply(place, size) for place, size in zip(reversed(places), shape, strict=True)]
    if _by_pieces(view):
        tile, value = _of_piece(tiles, rest, steps, shape)
    else:
        tile = tiles.tile(steps, shape)
        value = tiles.load(tile, [False] * len(shape))
    starts = [folding.subtract(start, begin) for start, (begin, _) in zip(tile.starts, tiles.new, strict=True)]
    part = largest(folding, view.plan, view.plan.after, view.sizes, view.align)
    pointer, distances = tiles.place_in(out, part, tile, starts)
    limits = [tiles.promised(limit, dim, shape[dim]) for dim, limit in enumerate(tile.limits)]
    mask = tiles.inside(tile, [None] * len(shape), limits)
    for places_of_copy in _copies(view, plain(TO_COPIES)):
        to = pointer
        if places_of_copy is not None:
            at = {**view.places, **places_of_copy}
            to = pointer_of(view.plan.before.mesh, at, pointer, view.context, _semantic, _generator)
        pointers = _semantic.add(to, distances, False)
        if mask is True:
            core.store(pointers, value, _semantic=_semantic)
        else:
            wanted = _semantic.broadcast_impl_shape(mask, list(tile.shape))
            core.store(pointers, value, mask=wanted, _semantic=_semantic)


def _of_piece(tiles: Tiles, number: Any, steps: list[Any], shape: list[int]) -> tuple[Tile, core.tensor]:
    """A tile of what one old part and the new one have in common."""
    view, folding = tiles.view, tiles.folding
    places = dict(view.places)
    if view.plan.pieces > 1:
        # Members begin with different ones, so that not all read the same one at a time.
        rest = folding.rest(folding.add(number, _turn(view, folding)), view.plan.pieces)
        for names in reversed(view.plan.searched):
            for name, size in zip(reversed(names), reversed(view.plan.sizes(names)), strict=True):
                places[name] = folding.rest(rest, size)
                rest = folding.divide(rest, size)
    old = ranges(folding, view.plan, view.plan.before, view.sizes, places, view.align)
    starts, limits = [], []
    for (begin, length), (old_begin, old_length), step in zip(tiles.new, old, steps, strict=True):
        first = folding.maximum(begin, old_begin)
        end = folding.minimum(folding.add(begin, length), folding.add(old_begin, old_length))
        starts.append(folding.add(first, step))
        limits.append(folding.subtract(end, starts[-1]))
    tile = Tile(tuple(shape), starts, tiles.places(shape), limits)
    return tile, tiles.load_piece(tile, places, [True] * len(shape))


def _turn(view: resharded_tensor, folding: Folding) -> Any:
    """This member's own number among the pieces."""
    number: Any = 0
    for names in view.plan.searched:
        for name, size in zip(names, view.plan.sizes(names), strict=True):
            number = folding.add(folding.multiply(number, size), view.places[name])
    return number


def _by_pieces(view: resharded_tensor) -> bool:
    """Whether every element of the new part is in some old one: zeros around a part belong to none."""
    return not view.plan.pads


def _counts(view: resharded_tensor, folding: Folding, shape: Any) -> list[Any]:
    """How many tiles cover what an old and a new part may have in common, for each dim."""
    new = largest(folding, view.plan, view.plan.after, view.sizes, view.align)
    if _by_pieces(view):
        old = largest(folding, view.plan, view.plan.before, view.sizes, view.align)
        new = [folding.minimum(a, b) for a, b in zip(new, old, strict=True)]
    return [folding.ceil_divide(length, size) for length, size in zip(new, shape, strict=True)]


def _copies(view: resharded_tensor, to_copies: bool) -> list[dict[str, int] | None]:
    if not to_copies:
        return [None]
    sizes = view.plan.sizes(view.plan.copies)
    return [dict(zip(view.plan.copies, place, strict=True)) for place in product(*map(range, sizes))]
