"""Tile operations of TileLang on the memory of a block."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tle_raw.adapters.tilelang.port.reference.functions import REDUCTIONS
from tle_raw.adapters.tilelang.port.reference.memory import Memory
from tle_raw.adapters.tilelang.port.reference.numbers import Unevaluated, converted, held_as
from tle_raw.adapters.tilelang.regions import BufferRegion, is_region, nearness, region_of

UPDATES = {"add": np.add, "max": np.fmax, "min": np.fmin}


class TileOperations(Memory):
    """``tl.tileop.NAME`` is the method ``tile_NAME``."""

    def tile_copy(self, call: Any) -> None:
        source, target = self._of_one_size(region_of(call.args[0]), region_of(call.args[1]))
        value = self.read(source)
        self.write(target, value.reshape([n for n in value.shape if n != 1]))

    tile_async_copy = tile_copy

    def _of_one_size(self, source: BufferRegion, target: BufferRegion) -> tuple[BufferRegion, BufferRegion]:
        """Of boxes of other sizes the one nearer to the registers says how far to go, all the source at least."""
        sizes = [[int(self.scalar(extent)) for extent in box.extents] for box in (source, target)]
        walked = [[n for n in each if n != 1] for each in sizes]
        base = walked[nearness(source.buffer) < nearness(target.buffer)]
        fits = len(walked[0]) == len(walked[1]) and all(n >= size for n, size in zip(base, walked[0]))
        if np.prod(walked[0]) == np.prod(walked[1]) or not fits:
            return source, target
        far = [iter(base), iter(base)]
        extents = [tuple(n if n == 1 else next(way) for n in each) for each, way in zip(sizes, far)]
        return replace(source, extents=extents[0]), replace(target, extents=extents[1])

    def tile_transpose(self, call: Any) -> None:
        self.write(region_of(call.args[1]), np.swapaxes(self.read(region_of(call.args[0])), -1, -2), squeezed=False)

    def tile_fill(self, call: Any) -> None:
        target = region_of(call.args[0])
        sizes = [int(self.scalar(e)) for e in target.extents]
        self.write(target, np.broadcast_to(self.value(call.args[1]), sizes), squeezed=False)

    def tile_gemm(self, call: Any) -> None:
        a, b, target = self.read(region_of(call.args[0])), self.read(region_of(call.args[1])), region_of(call.args[2])
        a, b = a.reshape(a.shape[-2:]), b.reshape(b.shape[-2:])
        a = a.T if int(self.scalar(call.args[3])) else a
        b = b.T if int(self.scalar(call.args[4])) else b
        kind = np.float64 if a.dtype.kind == "f" else np.int64
        made = a.astype(kind) @ b.astype(kind)
        if not int(self.scalar(call.args[9])):
            made = made + self.read(target).reshape(made.shape)
        self.write(target, made.reshape([int(self.scalar(e)) for e in target.extents]), squeezed=False)

    def tile_reduce(self, call: Any) -> None:
        source, target = region_of(call.args[0]), region_of(call.args[1])
        combine, before = REDUCTIONS.get(str(call.args[2].value), (None, None))
        if combine is None:
            raise Unevaluated(f"a reduction of the kind {call.args[2].value}")
        value = converted(self.read(source), str(target.buffer.dtype), str(source.buffer.dtype))
        value = before(value) if before is not None else value
        made = combine.reduce(value, axis=int(self.scalar(call.args[3])))
        sizes = [int(self.scalar(e)) for e in target.extents]
        made = made.reshape(sizes)
        if not int(self.scalar(call.args[4])):
            made = combine(made, self.read(target))
        self.write(target, made, squeezed=False)

    def tile_cumsum(self, call: Any) -> None:
        self._scan(call, np.add)

    def tile_cummax(self, call: Any) -> None:
        self._scan(call, np.fmax)

    def _scan(self, call: Any, combine: Any) -> None:
        source, target = region_of(call.args[0]), region_of(call.args[1])
        axis, back = int(self.scalar(call.args[2])), bool(int(self.scalar(call.args[3])))
        value = self.read(source)
        value = np.flip(value, axis) if back else value
        made = combine.accumulate(value, axis=axis)
        self.write(target, np.flip(made, axis) if back else made, squeezed=False)

    def tile_reducer_init(self, call: Any) -> None:
        target = region_of(call.args[0])
        if len(call.args) > 1:
            first = self.value(call.args[1])
        else:
            kind, dtype = self._reducer(target.buffer), held_as(str(target.buffer.dtype))
            lowest = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
            first = dtype.type({np.add: 0, np.fmax: lowest[0], np.fmin: lowest[1]}[kind])
        self.array(target.buffer)[...] = first

    def tile_finalize_reducer(self, call: Any) -> None:
        if len(call.args) > 1 and is_region(call.args[1]):
            self.tile_copy(call)

    tile_finalize_reducer_v2 = tile_finalize_reducer

    def tile_atomicadd(self, call: Any) -> None:
        self._atomic_tile(call, np.add)

    def tile_atomicmax(self, call: Any) -> None:
        self._atomic_tile(call, np.fmax)

    def tile_atomicmin(self, call: Any) -> None:
        self._atomic_tile(call, np.fmin)

    def _atomic_tile(self, call: Any, combine: Any) -> None:
        if not all(is_region(a) for a in call.args[:2]):
            raise Unevaluated("an atomic update of a tile by something else than a tile")
        source, target = region_of(call.args[0]), region_of(call.args[1])
        value = self.read(source)
        self._grid_of(target, value.reshape([n for n in value.shape if n != 1]), combine)

    def _reducer(self, buffer: Any) -> Any:
        for name in ("reducer_info", "reducer_info_v2"):
            for memory, info in dict(self.program.annotations.get(name, {})).items():
                if memory.same_as(buffer.data):
                    return {"sum": np.add, "max": np.fmax, "min": np.fmin}[str(info["op"])]
        raise Unevaluated(f"`{buffer.name}`, which is no reducer")
