"""``tle_raw.array``: pass an array to a kernel together with its sizes and strides."""

from __future__ import annotations

from typing import Any

from tle_raw.errors import ArgumentTypeError, Row


def array(values: Any) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
    """A launch argument of three parts: the array, its sizes, and its strides in elements.

    In the kernel it is a tuple, which a cuTile fragment takes as an array.

    Parameters
    ----------
    values : an array of torch or NumPy, or what has ``shape``, and ``stride()`` or ``strides`` and ``itemsize``.

    Raises
    ------
    ArgumentTypeError : it is no array, or its strides are no whole numbers of elements.
    """
    try:
        shape = tuple(int(n) for n in values.shape)
        strides = _strides(values)
    except (AttributeError, TypeError, ZeroDivisionError) as e:
        raise ArgumentTypeError(
            "tle_raw.array takes an array", table=[Row("argument", "an array with strides", type(values).__name__)]
        ) from e
    return values, shape, strides


def _strides(values: Any) -> tuple[int, ...]:
    if callable(getattr(values, "stride", None)):
        return tuple(int(s) for s in values.stride())
    size = values.dtype.itemsize
    if any(s % size for s in values.strides):
        raise ArgumentTypeError(
            "the strides of the array are no whole numbers of elements",
            table=[Row("strides in bytes", f"multiples of {size}", str(tuple(values.strides)))],
        )
    return tuple(s // size for s in values.strides)
