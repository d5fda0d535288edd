"""``tle.gpu.grouped_tile``: an order of tiles in which neighbours share what they read."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.gpu.gpu_function import gpu_function
from tle_raw.frontends.lite.arguments import describe_value, is_integer, is_scalar_integer, plain


@gpu_function
def grouped_tile(
    number: Any, tiles_m: Any, tiles_n: Any, group_m: Any, _semantic: Any = None, _generator: Any = None
) -> core.tuple:
    """``(m, n)`` of a tile by its number: groups of ``group_m`` rows of tiles are walked column by column.

    What programs read at the same time stays in the L2 cache: of a product, ``group_m`` rows of tiles of the one
    operand, and few columns of the other. The last group has as many rows as are left.

    Parameters
    ----------
    number : 0 to ``tiles_m * tiles_n - 1``; a scalar of integers.
    tiles_m, tiles_n : how many tiles there are.
    group_m : how many rows a group has; 1 or more.

    Raises
    ------
    ArgumentTypeError : one of them is no integer, or a constant group has no row.
    """
    values = {"number": number, "tiles_m": tiles_m, "tiles_n": tiles_n, "group_m": group_m}
    for name, value in values.items():
        given = plain(value)
        if not (is_scalar_integer(given) or (is_integer(given) and given >= (name == "group_m"))):
            raise ArgumentTypeError(
                "tle.gpu.grouped_tile: tiles are counted",
                table=[Row(name, "an integer, or a scalar of integers", describe_value(value))],
            )
    place, rows, columns, height = (
        _semantic.cast(_semantic.to_tensor(plain(value)), core.int32) for value in values.values()
    )
    in_group = _semantic.mul(height, columns, False)
    first = _semantic.mul(_semantic.floordiv(place, in_group), height, False)
    width = core.minimum(_semantic.sub(rows, first, False), height, _semantic=_semantic)
    rest = _semantic.mod(place, in_group)
    return core.tuple([_semantic.add(first, _semantic.mod(rest, width), False), _semantic.floordiv(rest, width)])
