"""Copies out of buffers that add to what global memory holds, or combine it otherwise, atomically."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triton._C.libtriton import ir
from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.gpu.capability import capability_of
from tle_raw.frontends.lite.arguments import describe_value
from tle_raw.regions.stages import compiled_target, is_looked_at
from tle_raw.triton_types import Semantic

_WORDS = ("int32", "uint32", "int64", "uint64")
_DTYPES = {
    "add": ("int32", "uint32", "uint64", "fp32", "fp16", "bf16"),
    "min": (*_WORDS, "fp16", "bf16"),
    "max": (*_WORDS, "fp16", "bf16"),
    "and": _WORDS,
    "or": _WORDS,
    "xor": _WORDS,
}
_HALVES = ("fp16", "bf16")
_HOPPER = 90
_COMBINED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda semantic, x, y: semantic.add(x, y, False),
    "min": lambda semantic, x, y: core.minimum(x, y, _semantic=semantic),
    "max": lambda semantic, x, y: core.maximum(x, y, _semantic=semantic),
    "and": lambda semantic, x, y: semantic.and_(x, y),
    "or": lambda semantic, x, y: semantic.or_(x, y),
    "xor": lambda semantic, x, y: semantic.xor_(x, y),
}


def check_reduction(kind: Any, dtype: Any, semantic: Semantic, generator: Any) -> str:
    """How a tile is combined with what global memory holds.

    Raises
    ------
    ArgumentTypeError : there is no such combination, or none of this dtype on this target.
    """
    if not isinstance(kind, str) or kind not in _DTYPES:
        raise ArgumentTypeError(
            "tle.gpu.copy: how the tile is combined with what global memory holds",
            table=[Row("reduce", ", ".join(f'"{name}"' for name in _DTYPES), describe_value(kind))],
        )
    has_halves = generator is None or (compiled_target() == "cuda" and capability_of(semantic) >= _HOPPER)
    taken = [name for name in _DTYPES[kind] if has_halves or kind == "add" or name not in _HALVES]
    if dtype.name not in taken:
        raise ArgumentTypeError(
            f'tle.gpu.copy: reduce="{kind}" combines numbers of some dtypes',
            table=[Row("dtype", ", ".join(taken), dtype.name)],
            hint="" if dtype.name not in _DTYPES[kind] else "16-bit floats need sm_90 for it",
        )
    return kind


def reduce_into(
    descriptor: Any, places: list[Any], value: core.tensor, kind: str, semantic: Semantic, generator: Any
) -> None:
    """Combine a tile with what is behind the descriptor. The programs of Triton's interpreter run one by one."""
    if generator is None:
        held = descriptor.load(places, _semantic=semantic)
        descriptor.store(places, _COMBINED[kind](semantic, held, value), _semantic=semantic)
        return
    if is_looked_at():  # torch.compile takes a store for a write, and this for arithmetic
        descriptor.store(places, value, _semantic=semantic)
    operation = getattr(ir.DESCRIPTOR_REDUCE_KIND, kind.upper())
    handles = [place.handle for place in places]
    semantic.builder.create_descriptor_reduce(operation, descriptor.handle, value.handle, handles)
