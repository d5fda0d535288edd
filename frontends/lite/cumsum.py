"""``tle.cumsum``: exclusive prefix sums and the total, in one scan."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row, ShapeError
from tle_raw.frontends.lite.arguments import describe_value, is_integer, plain
from tle_raw.frontends.lite.kernel_function import kernel_function
from tle_raw.frontends.lite.select import select
from tle_raw.regions.shapes import shape_of
from tle_raw.triton_types import Semantic


@triton.jit
def _add(left, right):  # type: ignore[no-untyped-def]
    return left + right


@triton.jit
def _add_behind(before_left, sum_left, before_right, sum_right):  # type: ignore[no-untyped-def]
    return sum_left + before_right, sum_left + sum_right


@kernel_function
def cumsum(
    input: Any, axis: Any = 0, reverse: Any = False, dtype: Any = None, _semantic: Any = None, _generator: Any = None
) -> Any:
    """``(exclusive, total)``: the sum of what lies before each element along an axis, and the sum of all.

    ``exclusive + input`` are the inclusive sums of ``tl.cumsum``. On every target it is made of ``tl``'s scans and
    reductions. The sums before each element are sums of those elements alone: nothing is subtracted from a float, so
    an infinity or a NaN leaves the sums before it as they are.

    Parameters
    ----------
    input : a block tensor of numbers of any rank, or a scalar, which gives ``(0, input)``. Integers of less than 32
        bits become i32 or u32, as in ``tl.sum``, and bf16 becomes f32.
    axis : along which; a constant.
    reverse : sum what lies behind each element instead; a constant.
    dtype : convert the input to this dtype first.

    Returns
    -------
    The exclusive sums in the shape of ``input``, and the totals without the axis: a scalar for rank 1.

    Raises
    ------
    ShapeError : the tensor has no such axis.
    ArgumentTypeError : pointers, fp8 without ``dtype``, or a run-time axis.
    """
    x, wanted, backward = plain(input), plain(dtype), plain(reverse)
    if not isinstance(x, core.tensor):
        x = _semantic.to_tensor(x)
    x = _semantic.cast(x, _sum_dtype(x.dtype, wanted))
    if not x.type.is_block():
        return core.tuple([_semantic.scalar_constant(0, x.dtype), x])
    axis = _checked_axis(plain(axis), len(shape_of(x)))
    if not isinstance(backward, (bool, int)):
        raise ArgumentTypeError(
            "tle.cumsum: reverse is known at compile time",
            table=[Row("reverse", "True or False", describe_value(reverse))],
        )
    each = _integer_sums if x.dtype.is_int() else _float_sums
    return core.tuple(list(each(x, axis, bool(backward), _semantic, _generator)))


def _integer_sums(
    x: core.tensor, axis: int, reverse: bool, semantic: Semantic, generator: Any
) -> tuple[core.tensor, core.tensor]:
    """Integers wrap round: what was added can be taken away again."""
    traced = {"_semantic": semantic, "_generator": generator}
    inclusive = tl.associative_scan(x, axis, _add, reverse, **traced)
    return semantic.sub(inclusive, x, False), tl.reduce(x, axis, _add, **traced)


def _float_sums(
    x: core.tensor, axis: int, reverse: bool, semantic: Semantic, generator: Any
) -> tuple[core.tensor, core.tensor]:
    """A scan of pairs: the sum before an element, and the sum with it. The total is the last of the latter."""
    traced = {"_semantic": semantic, "_generator": generator}
    zero = semantic.full(list(shape_of(x)), semantic.scalar_constant(0, x.dtype), x.dtype)
    exclusive, inclusive = tl.associative_scan((zero, x), axis, _add_behind, reverse, **traced)
    length = shape_of(x)[axis]
    last = semantic.equal(
        semantic.arange(0, length), semantic.scalar_constant(0 if reverse else length - 1, core.int32)
    )
    for other in range(len(shape_of(x))):
        last = last if other == axis else semantic.expand_dims(last, other)
    last = semantic.broadcast_impl_shape(last, list(shape_of(x)))
    return exclusive, tl.reduce(select(semantic, last, inclusive, zero), axis, _add, **traced)


def _sum_dtype(given: Any, wanted: Any) -> Any:
    if given.is_ptr() or (wanted is None and given.is_fp8()):
        raise ArgumentTypeError(
            f"tle.cumsum does not sum {'pointers' if given.is_ptr() else 'fp8'}",
            table=[Row("input", "a tensor of numbers", str(given))],
            hint="" if given.is_ptr() else "give the dtype to sum in: dtype=tl.float32",
        )
    if wanted is not None:
        if not isinstance(wanted, core.dtype) or wanted.is_ptr() or wanted.is_fp8() or wanted.is_bool():
            raise ArgumentTypeError(
                "tle.cumsum: a dtype that sums can have",
                table=[Row("dtype", "e.g. tl.float32", describe_value(wanted))],
            )
        return wanted
    if given.is_bf16():
        return core.float32
    if given.is_int() and given.int_bitwidth < 32:
        return core.int32 if given.is_int_signed() else core.uint32
    return given


def _checked_axis(axis: Any, rank: int) -> int:
    if not is_integer(axis):
        raise ArgumentTypeError(
            "tle.cumsum: the axis is known at compile time", table=[Row("axis", "an integer", describe_value(axis))]
        )
    if not -rank <= axis < rank:
        raise ShapeError(
            f"tle.cumsum: a tensor of rank {rank} has no such axis",
            table=[Row("axis", f"{-rank} to {rank - 1}", str(axis))],
        )
    return axis % rank
