"""``tle.dsa.add`` and its like: arithmetic of whole buffers in UB."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, LocalMemoryError, Row, ShapeError
from tle_raw.frontends.dsa import content
from tle_raw.frontends.dsa.checks import check_buffer
from tle_raw.frontends.dsa.dsa_function import dsa_function
from tle_raw.frontends.dsa.kept import keep
from tle_raw.frontends.dsa.local_buffer import local_buffer
from tle_raw.frontends.dsa.memories import keeps_operations
from tle_raw.frontends.dsa.spaces import UB


@dsa_function
def add(lhs: Any, rhs: Any, out: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """``out = lhs + rhs``, element by element; ``out`` may be one of the two.

    Parameters
    ----------
    lhs, rhs, out : buffers in UB, or sub-views, of one shape and dtype. Nothing is broadcast or converted. Sub-views of
        one buffer that overlap without being the same are read as a whole before any element is written.

    Raises
    ------
    ShapeError, ArgumentTypeError : the shapes or the dtypes differ, or one is no buffer.
    LocalMemoryError : one does not lie in UB.
    """
    _compute("add", lhs, rhs, out, _semantic, _generator)


@dsa_function
def sub(lhs: Any, rhs: Any, out: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """``out = lhs - rhs``, element by element; arguments and errors as for ``tle.dsa.add``."""
    _compute("sub", lhs, rhs, out, _semantic, _generator)


@dsa_function
def mul(lhs: Any, rhs: Any, out: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """``out = lhs * rhs``, element by element; arguments and errors as for ``tle.dsa.add``."""
    _compute("mul", lhs, rhs, out, _semantic, _generator)


@dsa_function
def div(lhs: Any, rhs: Any, out: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """``out = lhs / rhs``, element by element; of integers towards zero. As ``tle.dsa.add``."""
    _compute("div", lhs, rhs, out, _semantic, _generator)


@dsa_function
def max(lhs: Any, rhs: Any, out: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """``out`` is the larger of the two, element by element; of a number and NaN the number. As ``tle.dsa.add``."""
    _compute("max", lhs, rhs, out, _semantic, _generator)


@dsa_function
def min(lhs: Any, rhs: Any, out: Any, _semantic: Any = None, _generator: Any = None) -> None:
    """``out`` is the smaller of the two, element by element; of a number and NaN the number. As ``tle.dsa.add``."""
    _compute("min", lhs, rhs, out, _semantic, _generator)


def _compute(name: str, lhs: Any, rhs: Any, out: Any, semantic: Any, generator: Any) -> None:
    buffers = [check_buffer(name, *each) for each in (("lhs", lhs), ("rhs", rhs), ("out", out))]
    _check_alike(name, buffers)
    if generator is not None and keeps_operations():
        keep(name, {}, [each.whole.handle for each in buffers], [], semantic, generator)
        return
    a, b = (content.load(each, semantic, generator) for each in buffers[:2])
    value = semantic.cast(_value(name, a, b, semantic), out.dtype)
    content.store(buffers[2], value, semantic, generator)


def _value(name: str, a: core.tensor, b: core.tensor, semantic: Any) -> core.tensor:
    if name in ("max", "min"):
        function = core.maximum if name == "max" else core.minimum
        return function(a, b, _semantic=semantic)
    if name == "div":
        return semantic.floordiv(a, b) if a.dtype.is_int() else semantic.truediv(a, b)
    return getattr(semantic, name)(a, b, False)


def _check_alike(name: str, buffers: list[local_buffer]) -> None:
    first = buffers[0]
    for called, each in zip(("lhs", "rhs", "out"), buffers):
        if each.space != UB:
            raise LocalMemoryError(
                f"tle.dsa.{name}: the vector units work on what lies in UB",
                table=[Row(called, "a buffer in UB", str(each.type))],
            )
        if each.type.shape != first.type.shape:
            raise ShapeError(
                f"tle.dsa.{name}: the buffers have one shape, nothing is broadcast",
                table=[Row(called, str(list(first.type.shape)), str(list(each.type.shape)))],
                hint="tle.dsa.to_buffer(tl.full(shape, number, dtype), tle.dsa.ascend.UB) is a buffer of one number",
            )
        if each.dtype != first.dtype or _has_no_arithmetic(each.dtype):
            wanted = "integers, f16, bf16, f32 or f64" if _has_no_arithmetic(first.dtype) else str(first.dtype)
            raise ArgumentTypeError(
                f"tle.dsa.{name}: the buffers hold numbers of one dtype, nothing is converted",
                table=[Row(called, wanted, str(each.dtype))],
            )


def _has_no_arithmetic(dtype: Any) -> bool:
    return bool(dtype.is_bool() or dtype.is_fp8())
