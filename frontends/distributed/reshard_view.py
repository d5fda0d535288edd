"""Tensors with a sharding as values of a kernel, and their types: the pairs that Triton's tracer asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from triton.language import core

from tle_raw.frontends.distributed.reshard_plan import Plan
from tle_raw.frontends.distributed.sharding import ShardingSpec
from tle_raw.frontends.gpu.composite import Parts, Whole


@dataclass(frozen=True)
class sharded_type(Parts, core.base_type):  # type: ignore[misc]
    """``shape`` is the whole tensor's, None for a size that the kernel computes; ``members`` are the types within."""

    sharding: ShardingSpec
    shape: tuple[int | None, ...]
    members: tuple[Any, ...]

    def parts(self) -> Sequence[Any]:
        return self.members

    def of(self, parts: Sequence[Any]) -> sharded_tensor:
        sizes = iter(parts[1:])
        shape = [next(sizes) if size is None else size for size in self.shape]
        return sharded_tensor(parts[0], self.sharding, shape)

    def mangle(self) -> str:
        return _mangled("S", (self.sharding, self.shape), self.members)

    def __str__(self) -> str:
        return f"a sharded tensor of {self.members[0]}"


class sharded_tensor(Whole):
    """What ``tle.make_sharded_tensor`` gives in a kernel.

    Attributes
    ----------
    handle : a pointer, a buffer or a block tensor, as it was given.
    sharding : a ``ShardingSpec``.
    shape : of the whole tensor, integers and scalars.
    """

    def __init__(self, handle: Any, sharding: ShardingSpec, shape: Sequence[Any]) -> None:
        self.handle, self.sharding, self.sizes = handle, sharding, tuple(shape)
        known = tuple(size if isinstance(size, int) else None for size in shape)
        self.type = sharded_type(sharding, known, tuple(part.type for part in self.parts()))

    @property
    def shape(self) -> Any:
        return core.tuple([core.constexpr(size) if isinstance(size, int) else size for size in self.sizes])

    def parts(self) -> Sequence[Any]:
        return [self.handle, *(size for size in self.sizes if not isinstance(size, int))]

    def __repr__(self) -> str:
        return str(self.type)


@dataclass(frozen=True)
class resharded_type(Parts, core.base_type):  # type: ignore[misc]
    """``axes`` are those of which the own coordinate is kept, ``align`` what divides where rows begin."""

    plan: Plan
    shape: tuple[int | None, ...]
    axes: tuple[str, ...]
    align: int
    members: tuple[Any, ...]

    def parts(self) -> Sequence[Any]:
        return self.members

    def of(self, parts: Sequence[Any]) -> resharded_tensor:
        places = dict(zip(self.axes, parts[1:], strict=False))
        rest = iter(parts[1 + len(self.axes) :])
        shape = [next(rest) if size is None else size for size in self.shape]
        return resharded_tensor(self.plan, parts[0], shape, places, self.align, next(rest, None))

    def mangle(self) -> str:
        return _mangled("V", (self.plan, self.shape, self.axes, self.align), self.members)

    def __str__(self) -> str:
        return f"a resharded view of {self.members[0]}"


class resharded_tensor(Whole):
    """What ``tle.reshard`` gives of a pointer or a buffer: a view, of which nothing is moved before a tile is taken.

    Attributes
    ----------
    plan : from which sharding to which.
    handle : the pointer or the buffer with this member's old part.
    sizes : of the whole tensor.
    places : this member's own coordinates, by axes of the mesh.
    align : how many elements' alignment the beginnings of rows and parts have.
    context : the argument that reaches peers' memory; None in a cluster.
    """

    def __init__(
        self, plan: Plan, handle: Any, sizes: Sequence[Any], places: dict[str, Any], align: int, context: Any
    ) -> None:
        self.plan, self.handle, self.sizes, self.places = plan, handle, tuple(sizes), places
        self.align, self.context = align, context
        known = tuple(size if isinstance(size, int) else None for size in sizes)
        self.type = resharded_type(plan, known, tuple(places), align, tuple(part.type for part in self.parts()))

    @property
    def sharding(self) -> ShardingSpec:
        return self.plan.after

    def parts(self) -> Sequence[Any]:
        context = [] if self.context is None else [self.context]
        return [
            self.handle,
            *self.places.values(),
            *(size for size in self.sizes if not isinstance(size, int)),
            *context,
        ]

    def __repr__(self) -> str:
        return str(self.type)


def _mangled(letter: str, facts: tuple[Any, ...], members: Sequence[Any]) -> str:
    digest = sha256(repr(facts).encode()).hexdigest()[:16]
    return f"{letter}{digest}_{'_'.join(member.mangle() for member in members)}{letter}"
