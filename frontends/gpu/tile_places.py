"""Where a tile of a tensor descriptor begins, and the places that the GPU's copy engine (TMA) does not take.

Two rules hold on a GPU. Along the innermost axis a tile begins at a multiple of 16 bytes: the copy engine ends the
kernel with an illegal instruction else (seen on an H200). And a tile is not stored from a negative place on (CUDA
Programming Guide, "Using TMA to transfer multi-dimensional arrays"). Constants are checked while a kernel is traced,
other places by the CPU target under ``knobs.debug``, and by Triton's interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.gpu.capability import capability_of
from tle_raw.frontends.lite.arguments import describe_value, is_integer, is_scalar_integer, items, plain
from tle_raw.regions.interpret import in_interpreter
from tle_raw.regions.stages import compiled_target, is_looked_at
from tle_raw.triton_types import Semantic

_BYTES = 16
_HOPPER = 90
_ODD = "tle.gpu.copy: the copy engine takes no tile that begins between multiples of 16 bytes along the innermost axis"
_NEGATIVE = "tle.gpu.copy: the copy engine stores no tile from a negative place on"


def has_tma(semantic: Semantic) -> bool:
    """On other targets than NVIDIA's the operations mean what they mean there."""
    return compiled_target() != "cuda" or capability_of(semantic) >= _HOPPER


def tile_places(offsets: Any, type_: Any, *, is_store: bool, semantic: Semantic) -> list[core.tensor]:
    """The places as i32 scalars, for a tile of a buffer's ``type_``.

    Raises
    ------
    ArgumentTypeError : not an integer for each axis, or a constant that the copy engine does not take.
    """
    given = items(offsets)
    if given is None or len(given) != len(type_.shape):
        raise ArgumentTypeError(
            "tle.gpu.copy: where the tile begins, for each axis of the descriptor",
            table=[Row("offsets", f"{len(type_.shape)} integers", describe_value(offsets))],
        )
    for place in given:
        if not is_integer(place) and not is_scalar_integer(place):
            raise ArgumentTypeError(
                "tle.gpu.copy: a place is an integer",
                table=[Row("offsets", "integers, or scalars of integers", describe_value(offsets))],
            )
    multiple = _BYTES * 8 // type_.dtype.primitive_bitwidth
    if has_tma(semantic):
        _check_constants(given, multiple, is_store)
    places = [semantic.cast(semantic.to_tensor(place), core.int32) for place in given]
    if compiled_target() != "cuda":
        _check_later(given, places, multiple, is_store, semantic)
    return places


def _check_constants(given: Sequence[Any], multiple: int, is_store: bool) -> None:
    constants = [plain(place) if is_integer(place) else None for place in given]
    if constants[-1] is not None and constants[-1] % multiple:
        raise ArgumentTypeError(
            _ODD, table=[Row(f"offsets[{len(given) - 1}]", f"a multiple of {multiple} elements", str(constants[-1]))]
        )
    for axis, place in enumerate(constants):
        if is_store and place is not None and place < 0:
            raise ArgumentTypeError(_NEGATIVE, table=[Row(f"offsets[{axis}]", "0 or more", str(place))])


def _check_later(
    given: Sequence[Any], places: Sequence[core.tensor], multiple: int, is_store: bool, semantic: Semantic
) -> None:
    """Where the kernel runs, of what is no constant."""
    zero = semantic.to_tensor(0)
    if not is_integer(given[-1]):
        rest = semantic.mod(places[-1], semantic.to_tensor(multiple))
        _demand(semantic.equal(rest, zero), _ODD, semantic)
    for place, tensor in zip(given, places):
        if is_store and not is_integer(place):
            _demand(semantic.greater_equal(tensor, zero), _NEGATIVE, semantic)


def _demand(condition: core.tensor, message: str, semantic: Semantic) -> None:
    if in_interpreter():
        if not condition.handle.data.all():
            raise ArgumentTypeError(message)
    elif not is_looked_at() and getattr(semantic.builder.options, "debug_checks", False):
        semantic.builder.create_assert(condition.handle, message)
