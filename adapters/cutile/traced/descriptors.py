"""Arrays that the call gives as tensor descriptors: their tiles are the descriptor's blocks, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triton.language import core

from tle_raw.adapters.cutile.arguments import is_descriptor
from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.traced.tracer import Tracer, View
from tle_raw.adapters.cutile.traced.values import cast, choose, constant
from tle_raw.errors import Row, UntraceableError


def is_of_descriptor(view: View) -> bool:
    return is_descriptor(view.pointer)


def load(tracer: Tracer, op: Operation, view: View, index: Sequence[core.tensor]) -> core.tensor:
    """What lies outside is zero, as Triton's descriptors have it where the kernel says nothing else."""
    _check(tracer, op, view)
    padding = view.type.padding_mode.name
    if padding not in ("ZERO", "UNDETERMINED"):
        raise tracer.fail(f"{padding} as padding of an array that is a tensor descriptor", hint=_HINT)
    return view.pointer.load(_offsets(tracer, view, index), _semantic=tracer.semantic)


def store(tracer: Tracer, op: Operation, view: View, index: Sequence[core.tensor], value: core.tensor) -> None:
    _check(tracer, op, view)
    view.pointer.store(_offsets(tracer, view, index), value, _semantic=tracer.semantic)


def store_inside(tracer: Tracer, view: View, index: Sequence[core.tensor], descriptor: Any, value: core.tensor) -> None:
    """By a descriptor of a whole kernel's own. A tile with a negative number is all outside, and not the engine's."""
    places = []
    for place in _offsets(tracer, view, index):
        zero, outside = constant(tracer, 0, core.int32), constant(tracer, _OUTSIDE, core.int32)
        inside = tracer.make("create_icmpSGE", core.int1, place, zero)
        places.append(choose(tracer, inside, place, outside))
    descriptor.store(places, value, _semantic=tracer.semantic)


_OUTSIDE = 2**31 - 2**10  # of every array
_HINT = "pass the array as (pointer, sizes, strides)"


def refuse(tracer: Tracer) -> UntraceableError:
    """Of what needs the array's address."""
    return tracer.fail("an access by address to an array that is a tensor descriptor", hint=_HINT)


def _check(tracer: Tracer, op: Operation, view: View) -> None:
    block = [int(core._unwrap_if_constexpr(d)) for d in view.pointer.block_shape]
    tile = list(view.type.tile_shape)
    order = list(getattr(view.type, "order", range(len(tile))))
    is_partition = not hasattr(view.type, "traversal_steps") and not hasattr(view.type, "sparse_dim")
    if not is_partition or order != sorted(order) or op.memory_order.name != "WEAK":
        raise tracer.fail("this access to an array that is a tensor descriptor", hint=_HINT)
    if block != tile:
        error = tracer.fail("a tile of another shape than the tensor descriptor's block", hint=_HINT)
        error.table = (Row("tile", str(block), str(tile)),)
        raise error


def _offsets(tracer: Tracer, view: View, index: Sequence[core.tensor]) -> list[core.tensor]:
    sizes = view.type.tile_shape
    index = [cast(tracer, i, core.int32) for i in index]
    return [tracer.make("create_mul", core.int32, i, constant(tracer, n, core.int32)) for i, n in zip(index, sizes)]
