"""Tiles of a resharded tensor: loaded from the members that have them, and added where sums are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from triton.language import core

from tle_raw.frontends.distributed.folding import Folding
from tle_raw.frontends.distributed.reshard_peers import buffer_of, pointer_of
from tle_raw.frontends.distributed.reshard_ranges import Range, largest, owner, ranges, strides
from tle_raw.frontends.distributed.reshard_view import resharded_tensor
from tle_raw.frontends.gpu.local_ptr import local_ptr


@dataclass
class Tile:
    """Some elements of a member's new part, and where they lie in the whole tensor.

    Attributes
    ----------
    shape : of the block tensor.
    starts : the index in the whole tensor of its first element.
    places : for each dim its elements counted from the first one: a block tensor that is broadcast over the others.
    limits : how many of them are wanted along each dim; what lies behind is zero.
    """

    shape: tuple[int, ...]
    starts: list[Any]
    places: list[core.tensor]
    limits: list[Any]


class Tiles:
    """Loads and places of tiles, for one view in one kernel."""

    def __init__(self, view: resharded_tensor, semantic: Any, generator: Any) -> None:
        self.view, self.semantic, self.generator = view, semantic, generator
        self.folding, self.plan = Folding(semantic), view.plan
        self.new = ranges(self.folding, self.plan, self.plan.after, view.sizes, view.places, view.align)

    @property
    def in_cluster(self) -> bool:
        return self.view.context is None

    @property
    def dtype(self) -> Any:
        handle = self.view.handle
        return handle.dtype if self.in_cluster else handle.dtype.element_ty

    # --- which elements ---------------------------------------------------------------------------------------------

    def tile(self, offsets: Sequence[Any], shape: Sequence[int]) -> Tile:
        """The tile whose first element lies ``offsets`` from the beginning of the new part."""
        starts = [self.folding.add(begin, offset) for (begin, _), offset in zip(self.new, offsets, strict=True)]
        limits = [self.folding.subtract(length, offset) for (_, length), offset in zip(self.new, offsets, strict=True)]
        return Tile(tuple(shape), starts, self.places(shape), limits)

    def places(self, shape: Sequence[int]) -> list[core.tensor]:
        """Their numbers along each dim, shaped for the tile."""
        found = []
        for dim, size in enumerate(shape):
            place = self.semantic.arange(0, size)
            for other in range(len(shape)):
                place = place if other == dim else self.semantic.expand_dims(place, other)
            found.append(place)
        return found

    def inside(self, tile: Tile, firsts: Sequence[Any], limits: Sequence[Any]) -> Any:
        """Which elements are ``firsts`` at least and below ``limits``; True where all are. None is no bound."""
        mask: Any = True
        for place, size, first, limit in zip(tile.places, tile.shape, firsts, limits, strict=True):
            if limit is not None and not (isinstance(limit, int) and limit >= size):
                mask = self._and(mask, self.semantic.less_than(place, self.semantic.to_tensor(limit)))
            if first is not None and not (isinstance(first, int) and first <= 0):
                mask = self._and(mask, self.semantic.greater_equal(place, self.semantic.to_tensor(first)))
        return mask

    def _and(self, a: Any, b: Any) -> Any:
        return b if a is True else self.semantic.and_(a, b)

    # --- loads --------------------------------------------------------------------------------------------------------

    def load(self, tile: Tile, aligned: Sequence[bool]) -> core.tensor:
        """The tile's values, zeros beyond the new part.

        ``aligned`` says for each dim whether the tile lies within one old part: that one alone is read then. Of the
        other dims all old parts are read, each where the tile meets it.
        """
        value = None
        found = {}
        for dim in range(self.plan.rank):
            if aligned[dim]:
                found[dim] = owner(
                    self.folding, self.plan, dim, self.view.sizes[dim], self.view.places, tile.starts[dim]
                )
        seen: set[tuple[Any, ...]] = set()
        for number in range(self.plan.pieces):
            piece = self.plan.piece(number)
            key = tuple(tuple(place.items()) for dim, place in enumerate(piece) if dim not in found)
            if key in seen:
                continue
            seen.add(key)
            places = dict(self.view.places)
            for dim, place in enumerate(piece):
                places.update(found.get(dim, place))
            value = self.load_piece(tile, places, aligned, value)
        return value

    def load_piece(
        self, tile: Tile, places: Mapping[str, Any], aligned: Sequence[bool], before: core.tensor | None = None
    ) -> core.tensor:
        """What members at these coordinates have of a tile, the sum over those that are added; ``before`` elsewhere."""
        old = ranges(self.folding, self.plan, self.plan.before, self.view.sizes, places, self.view.align)
        starts = [self.folding.subtract(start, begin) for start, (begin, _) in zip(tile.starts, old, strict=True)]
        mask = self.inside(tile, *self._bounds(tile, starts, old, aligned))
        for name in self.plan.firsts:
            mask = self._and(mask, self.semantic.equal(self.view.places[name], self.semantic.to_tensor(0)))
        sums = self.plan.summands()
        if len(sums) == 1:
            return self._one(tile, places, starts, mask, before)
        total = None
        for summand in sums:
            one = self._one(tile, {**places, **summand}, starts, mask, None)
            one = core.cast(one, self._sum_dtype(), _semantic=self.semantic)
            total = one if total is None else self.semantic.add(total, one, True)
        total = core.cast(total, self.dtype, _semantic=self.semantic)
        if before is None or mask is True:
            return total
        return core.where(mask, total, before, _semantic=self.semantic)

    def _bounds(self, tile: Tile, starts: Sequence[Any], old: Sequence[Range], aligned: Sequence[bool]) -> Any:
        """For each dim the first element of the tile that is wanted and is there, and the one behind the last."""
        firsts: list[Any] = []
        limits: list[Any] = []
        for dim in range(self.plan.rank):
            limit = tile.limits[dim]
            names = self.plan.split(self.plan.before, dim)
            is_own = not self.plan.searched[dim] and not set(names) & set(self.plan.pads)
            if is_own or aligned[dim]:
                firsts.append(None)
            else:
                firsts.append(self.folding.subtract(0, starts[dim]))
                limit = self.folding.minimum(limit, self.folding.subtract(old[dim][1], starts[dim]))
            limits.append(self.promised(limit, dim, tile.shape[dim]))
        return firsts, limits

    def promised(self, number: Any, dim: int, size: int) -> Any:
        """A number of elements along a dim of a tile; along the last one the alignment divides it."""
        is_last = dim == self.plan.rank - 1
        return self.folding.multiple(number, gcd(self.view.align, size)) if is_last else number

    def _one(
        self, tile: Tile, places: Mapping[str, Any], starts: Sequence[Any], mask: Any, before: core.tensor | None
    ) -> core.tensor:
        """The tile as one member has it; ``before`` or zeros where the mask is off."""
        mesh = self.plan.before.mesh
        if self.in_cluster:
            buffer = buffer_of(mesh, places, self.view.handle, self.semantic, self.generator)
            indices = [
                self.semantic.add(place, self.semantic.to_tensor(start), True)
                for place, start in zip(tile.places, starts, strict=True)
            ]
            pointers = local_ptr(buffer, core.tuple(indices), _semantic=self.semantic, _generator=self.generator)
        else:
            shape = largest(self.folding, self.plan, self.plan.before, self.view.sizes, self.view.align)
            pointer, offsets = self.place_in(self.view.handle, shape, tile, starts)
            pointer = pointer_of(mesh, places, pointer, self.view.context, self.semantic, self.generator)
            pointers = self.semantic.add(pointer, offsets, False)
        if mask is True:
            return core.load(pointers, _semantic=self.semantic)
        mask = self.semantic.broadcast_impl_shape(mask, list(tile.shape))
        other = core.constexpr(0) if before is None else before
        return core.load(pointers, mask=mask, other=other, _semantic=self.semantic)

    def place_in(
        self, pointer: core.tensor, shape: Sequence[Any], tile: Tile, starts: Sequence[Any]
    ) -> tuple[core.tensor, core.tensor]:
        """A pointer to the tile's first element in rows of such a part, and the distances of all elements from it."""
        steps = strides(self.folding, shape, self.view.align)
        first: Any = 0
        distances: Any = None
        for dim, (start, step, place) in enumerate(zip(starts, steps, tile.places, strict=True)):
            start = self.promised(start, dim, tile.shape[dim])
            first = self.folding.add(first, self.folding.multiply(self.folding.wide(start), self.folding.wide(step)))
            one = (
                place
                if isinstance(step, int) and step == 1
                else self.semantic.mul(place, self.semantic.cast(self.semantic.to_tensor(step), core.int32), False)
            )
            distances = one if distances is None else self.semantic.add(distances, one, False)
        first = self.folding.multiple(first, gcd(self.view.align, tile.shape[-1]))
        distances = self.semantic.broadcast_impl_shape(distances, list(tile.shape))
        return self.semantic.add(pointer, self.semantic.to_tensor(first), False), distances

    def _sum_dtype(self) -> Any:
        dtype = self.dtype
        if dtype.is_floating():
            return core.float64 if dtype == core.float64 else core.float32
        return core.int64 if dtype.primitive_bitwidth > 32 else core.int32
