"""``tle.dsa.subview``: a part of a buffer, of the same memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from triton.language import core

from tle_raw.frontends.dsa.checks import check_buffer, check_constants, check_inside, check_numbers, check_shape
from tle_raw.frontends.dsa.dsa_function import dsa_function
from tle_raw.frontends.dsa.local_buffer import View, local_buffer
from tle_raw.frontends.lite.arguments import is_integer


@dsa_function
def subview(src: Any, offsets: Any, sizes: Any, strides: Any, _semantic: Any = None, _generator: Any = None) -> Any:
    """A part of a buffer, of the same memory: element ``i`` along an axis is element ``offset + i * stride`` there.

    Parameters
    ----------
    offsets : one for each axis, constants or scalars of the kernel. Constants are checked while the kernel is traced,
        scalars on CPUs under ``knobs.debug``.
    sizes : of the part, constants, powers of two.
    strides : one for each axis, positive constants.

    Raises
    ------
    ArgumentTypeError : it is no buffer. ShapeError : the part lies beyond the buffer, or has another rank.
    """
    buffer = check_buffer("subview", "src", src)
    shape = buffer.type.shape
    dims = check_shape("subview", "sizes", sizes)
    steps = check_constants("subview", "strides", strides, len(shape))
    check_constants("subview", "sizes", sizes, len(shape))
    begins = check_numbers("subview", "offsets", offsets, len(shape))
    check_inside("subview", shape, begins, dims, steps)
    if buffer.type.view is not None:
        outer = buffer.type.view
        begins = [
            _sum(base, _product(begin, step, _semantic), _semantic)
            for base, begin, step in zip(buffer.offsets, begins, outer.strides)
        ]
        steps = tuple(a * b for a, b in zip(steps, outer.strides))
    values = tuple(begin if is_integer(begin) else _semantic.cast(begin, core.int32) for begin in begins)
    described = tuple(value if is_integer(value) else value.type for value in values)
    return local_buffer(buffer.whole, replace(buffer.type, view=View(described, dims, steps)), values)


def _product(value: Any, factor: int, semantic: Any) -> Any:
    return value * factor if is_integer(value) else semantic.mul(value, semantic.to_tensor(factor), False)


def _sum(a: Any, b: Any, semantic: Any) -> Any:
    if is_integer(a) and is_integer(b):
        return a + b
    return semantic.add(semantic.to_tensor(a), semantic.to_tensor(b), False)
