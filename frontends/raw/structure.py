"""TLE-Struct as traced regions ask for it: see ``tle_raw/regions/structure.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from triton.language import core

from tle_raw.frontends.gpu import barriers, operations, views, wgmma
from tle_raw.frontends.gpu.alloc import alloc
from tle_raw.frontends.gpu.barrier_value import PENDING, READY
from tle_raw.frontends.gpu.copy import copy
from tle_raw.frontends.gpu.layouts.nv_mma import nv_mma_shared_layout
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.gpu.write_partitions import specialise
from tle_raw.regions.structure import TRACED_BUFFER
from tle_raw.triton_types import Semantic


@dataclass(frozen=True)
class _Tracer:
    """What operations ask Triton's code generator for, which fragments do not see from Triton 3.7 on."""

    context: Any


class StructureHere:
    """``tle.gpu`` at the place where ``semantic`` writes."""

    def __init__(self, semantic: Semantic) -> None:
        self._semantic = semantic
        self._tracer = _Tracer(semantic.to_tensor(0).handle.get_context())
        self._traced: dict[str, Any] = {"_semantic": semantic, "_generator": self._tracer}

    def buffer(self, slots: int, shape: Sequence[int], dtype: Any) -> Any:
        # What the copy engine has for a tile of more dims than two; alloc's own layout is that of a matrix.
        layout = nv_mma_shared_layout.make_default(list(shape), dtype) if len(shape) > 2 else None
        made = alloc([slots, *shape], dtype, layout, **self._traced)
        made.handle.set_attr(TRACED_BUFFER, self._semantic.builder.get_string_attr("slots"))
        return made

    def slot(self, buffer: Any, number: Any) -> Any:
        return views.slot(buffer, number, **self._traced)

    def turned(self, tile: Any) -> Any:
        return views.trans(self._matrix(tile), **self._traced)

    def _matrix(self, tile: Any) -> Any:
        """A tile without its leading dims, which are of size 1: the elements lie as before."""
        type_ = tile.type
        rank = len(type_.shape)
        if rank == 2:
            return tile
        shape, memory = type_.shape[rank - 2 :], type_.memory[rank - 2 :]
        layout = nv_mma_shared_layout.make_default(list(shape), type_.dtype)
        changed = type_.changed(shape=shape, memory=memory, whole=memory, layout=layout)
        made = perform(operations.MEMDESC_REINTERPRET, self._semantic, self._tracer, changed, tile.handle)
        return type(tile)(made, changed, tile.storage)

    def barriers(self, count: int, arrivals: int = 1, expect_bytes: int | None = None, ready: bool = False) -> Any:
        state = READY if ready else PENDING
        return barriers.alloc_barriers(count, arrivals, state, expect_bytes, **self._traced)

    def wait(self, several: Any, number: Any, use: Any) -> None:
        barriers.barrier_wait(barriers.slot(several, number, **self._traced), use, **self._traced)

    def arrive(self, several: Any, number: Any, use: Any) -> None:
        barriers.barrier_arrive(barriers.slot(several, number, **self._traced), 1, use, **self._traced)

    def copy(self, descriptor: Any, tile: Any, places: Sequence[Any], several: Any, number: Any) -> None:
        one = barriers.slot(several, number, **self._traced)
        copy(descriptor, tile, list(tile.type.shape), offsets=list(places), barrier=one, **self._traced)

    def multiply(self, a: Any, b: Any, total: Any) -> Any:
        a = a if isinstance(a, core.tensor) else self._matrix(a)
        return wgmma.wgmma(a, self._matrix(b), total, **self._traced)

    def wait_for_products(self, value: Any, left: int, behind: Any = None) -> Any:
        return wgmma.wgmma_wait(left, value, behind, **self._traced)

    def specialise(
        self,
        main: Callable[[], list[Any]],
        worker: Callable[[list[Any]], None],
        captured: Sequence[Any],
        warps: int,
        registers: int,
    ) -> list[Any]:
        return specialise(main, worker, captured, warps, registers, self._semantic, self._tracer)
