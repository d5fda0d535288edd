"""Changes of shardings with what every member should have after them, by NumPy; random ones, too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from tle_raw.distributed import ShardingSpec, device_mesh, largest_part, local_box, own_part, sharding
from tle_raw.frontends.distributed.parts import coordinates


@dataclass(frozen=True)
class Case:
    """A tensor of small integers, so that sums are exact in every dtype and order."""

    before: ShardingSpec
    after: ShardingSpec
    shape: tuple[int, ...]
    dtype: str = "float32"
    seed: int = 0

    @property
    def members(self) -> int:
        return self.before.mesh.size

    def place(self, member: int) -> dict[str, int]:
        mesh = self.before.mesh
        return dict(zip(mesh.dim_names, coordinates(mesh.shape, member), strict=True))

    @cached_property
    def summands(self) -> dict[tuple[int, ...], np.ndarray]:
        """A whole tensor for each place along the axes that are added over."""
        random, mesh = np.random.default_rng(self.seed), self.before.mesh
        sizes = [mesh.shape[mesh.axis(name)] for name in self.before.partial]
        return {place: random.integers(-8, 8, self.shape).astype(self.dtype) for place in product(*map(range, sizes))}

    def part(self, member: int) -> np.ndarray:
        """What a member has at first, as large as the largest part; the rest is filled with 99."""
        made = np.full(largest_part(self.before, self.shape), 99, self.dtype)
        place = self.place(member)
        whole = self.summands[tuple(place[name] for name in self.before.partial)]
        own_part(made, self.before, self.shape, member)[...] = whole[local_box(self.before, self.shape, member)]
        return made

    def wanted(self, member: int) -> np.ndarray:
        """What it should have: the sums along the axes that are no longer partial, and of them its new part."""
        place, before, after = self.place(member), self.before, self.after
        whole = np.zeros(self.shape, np.float64 if np.dtype(self.dtype).kind == "f" else np.int64)
        for own, summand in self.summands.items():
            at = dict(zip(before.partial, own, strict=True))
            if all(at[name] == place[name] for name in before.partial if name in after.partial):
                whole += summand
        new = set(after.partial) - set(before.partial)
        if any(place[name] for name in new if name in before.broadcast):
            whole[...] = 0
        kept = [name for name in new if name not in before.broadcast]
        if kept:
            mask = np.zeros(self.shape, bool)
            for other in range(self.members):
                if all(self.place(other)[name] == place[name] for name in kept):
                    mask[local_box(before, self.shape, other)] = True
            whole[~mask] = 0
        return whole[local_box(after, self.shape, member)].astype(self.dtype)

    def check(self, member: int, found: np.ndarray) -> None:
        """``found`` is as large as the largest part."""
        got = own_part(found, self.after, self.shape, member)
        np.testing.assert_array_equal(got, self.wanted(member), err_msg=f"{self}, member {member}")


MESHES = (
    *({"device": size} for size in (2, 3, 4, 5, 8)),
    *({"node": a, "device": b} for a, b in ((2, 2), (2, 4), (4, 2), (3, 2))),
    {"device": [("x", 4), ("y", 2)]},
    {"node": 2, "device": [("x", 2), ("y", 2)]},
)
DTYPES = ("float32", "float16", "int8", "int32", "int64", "float64")


def random_case(seed: int) -> Case:
    """A mesh, two shardings, a shape of 1 to 3 dims, odd or a multiple of 16, a dtype."""
    random = np.random.default_rng(seed)
    mesh, rank = device_mesh(MESHES[random.integers(len(MESHES))]), int(random.integers(1, 4))
    is_odd = random.random() < 0.7
    sizes = random.integers(1, 14, rank) if is_odd else 16 * random.integers(1, 4 if rank < 3 else 3, rank)
    before, after = (_random_sharding(random, mesh, rank) for _ in range(2))
    return Case(before, after, tuple(map(int, sizes)), str(random.choice(DTYPES)), seed)


def _random_sharding(random: np.random.Generator, mesh: device_mesh, rank: int) -> ShardingSpec:
    split: list[list[str]] = [[] for _ in range(rank)]
    partial = []
    for name in random.permutation(mesh.dim_names):
        state = random.integers(3)
        if state == 0:
            split[random.integers(rank)].append(str(name))
        elif state == 1:
            partial.append(str(name))
    return sharding(mesh, split, partial)


def shardings_of_two_dims(mesh: device_mesh) -> list[ShardingSpec]:
    """All of a matrix whose axes nest in the mesh's order."""
    found = []
    for states in product(("row", "column", "sum", "all"), repeat=mesh.ndim):
        named = dict(zip(mesh.dim_names, states, strict=True))
        split = [[name for name, state in named.items() if state == wanted] for wanted in ("row", "column")]
        found.append(sharding(mesh, split, [name for name, state in named.items() if state == "sum"]))
    return found
