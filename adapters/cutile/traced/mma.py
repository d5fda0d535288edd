"""Matrix products: Triton's dot, in the precision that cuTile's dtypes say."""

from __future__ import annotations

import math

from triton.language import core

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.traced.small_floats import NUMBERS, number_of
from tle_raw.adapters.cutile.traced.tracer import Tracer, operation
from tle_raw.adapters.cutile.traced.types import block_type
from tle_raw.adapters.cutile.traced.values import cast, constant, reshape, spread
from tle_raw.regions.shapes import shape_of

_ALL_IMPRECISE = 2**30
_SCALED = {"float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}


@operation("tile_mma")
def multiply_add(tracer: Tracer, op: Operation) -> core.tensor:
    """``acc + x @ y``; f32 is IEEE's, tf32 what was made tfloat32 before."""
    x, y, total = tracer.value(op.x), tracer.value(op.y), tracer.value(op.acc)
    shape = shape_of(total)
    x, y, total = (_of_rank_3(tracer, v) for v in (x, y, total))
    if x.type.scalar.is_int():
        made = _of_integers(tracer, x, y, total)
    else:
        precision = "tf32" if op.x.get_type().dtype.name == "tfloat32" else "ieee"
        made = _product(tracer, x, y, total, precision, _ALL_IMPRECISE if op.use_fast_acc else 0)
    return reshape(tracer, made, shape)


def _of_rank_3(tracer: Tracer, value: core.tensor) -> core.tensor:
    """Triton multiplies matrices and batches of them: more dims of a batch become one."""
    shape = shape_of(value)
    return reshape(tracer, value, (math.prod(shape[:-2]), *shape[-2:])) if len(shape) > 3 else value


def _product(
    tracer: Tracer, x: core.tensor, y: core.tensor, total: core.tensor, precision: str, imprecise: int = 0
) -> core.tensor:
    if _is_too_small(tracer, x, y):
        return _small_product(tracer, x, y, total)
    code = tracer.semantic._str_to_dot_input_precision(precision)
    return core.tensor(tracer.builder.create_dot(x.handle, y.handle, total.handle, code, imprecise), total.type)


def _is_too_small(tracer: Tracer, x: core.tensor, y: core.tensor) -> bool:
    """Tensor cores have a smallest product."""
    find = getattr(tracer.builder, "codegen_fns", {}).get("min_dot_size")
    if find is None:
        return False
    least = find(x.type, y.type)
    sizes = (shape_of(x)[-2], shape_of(y)[-1], shape_of(x)[-1])
    return any(size < least[i] for i, size in enumerate(sizes))


def _small_product(tracer: Tracer, x: core.tensor, y: core.tensor, total: core.tensor) -> core.tensor:
    """All products at once, and their sums; small floats are summed in f32."""
    element = total.type.scalar
    wide = core.float32 if element.is_floating() and element.primitive_bitwidth < 32 else element
    x, y = cast(tracer, x, wide), cast(tracer, y, wide)
    *batch, rows, depth = shape_of(x)
    columns, axis = shape_of(y)[-1], len(batch) + 1
    all_of = [*batch, rows, depth, columns]
    x = spread(tracer, reshape(tracer, x, [*batch, rows, depth, 1]), all_of)
    y = spread(tracer, reshape(tracer, y, [*batch, 1, depth, columns]), all_of)
    multiply, add = ("create_fmul", "create_fadd") if wide.is_floating() else ("create_mul", "create_add")
    [sums] = tracer.flow.reduce(
        tracer,
        [tracer.make(multiply, x.type, x, y)],
        axis,
        lambda left, right: [tracer.make(add, left[0].type, left[0], right[0])],
    )
    wide_total = cast(tracer, total, wide)
    return cast(tracer, tracer.make(add, wide_total.type, wide_total, sums), element)


def _of_integers(tracer: Tracer, x: core.tensor, y: core.tensor, total: core.tensor) -> core.tensor:
    """Triton multiplies signed bytes. An unsigned one is a signed one plus 128; what that adds is added apart."""
    signed_x, signed_y = _as_signed(tracer, x), _as_signed(tracer, y)
    made = _product(tracer, signed_x, signed_y, total, "ieee")
    axis = len(shape_of(x)) - 1
    for is_left, byte in ((True, x), (False, y)):
        if not byte.type.scalar.is_int_signed():
            # 128 times the sum of the other operand along the depth; of both, 128 * 128 * depth is in one of them
            other = signed_y if is_left else cast(tracer, x, core.int32)
            sums = _sum(tracer, cast(tracer, other, core.int32), axis - 1 if is_left else axis)
            where = [1 if d == (axis - 1 if is_left else axis) else s for d, s in enumerate(shape_of(other))]
            sums = spread(tracer, reshape(tracer, sums, where), shape_of(total))
            sums = tracer.make("create_mul", sums.type, sums, constant(tracer, 128, sums.type))
            made = tracer.make("create_add", made.type, made, sums)
    return made


def _as_signed(tracer: Tracer, value: core.tensor) -> core.tensor:
    if value.type.scalar.is_int_signed():
        return value
    flipped = tracer.make("create_xor", value.type, value, constant(tracer, 128, value.type))
    return core.tensor(flipped.handle, block_type(core.int8, shape_of(value)))


def _sum(tracer: Tracer, value: core.tensor, axis: int) -> core.tensor:
    def add(left: list[core.tensor], right: list[core.tensor]) -> list[core.tensor]:
        return [tracer.make("create_add", left[0].type, left[0], right[0])]

    return tracer.flow.reduce(tracer, [value], axis, add)[0]


@operation("tile_mma_scaled")
def scaled_multiply_add(tracer: Tracer, op: Operation) -> core.tensor:
    """Products of numbers whose blocks along the depth have scales: powers of two, or other small floats.

    Triton multiplies matrices of fp8 with one power of two to 32 of them. All else becomes bf16, which holds every
    product of such a number with its scale.
    """
    x_dtype, y_dtype, scale_dtype = (v.get_type().dtype.name for v in (op.x, op.y, op.x_scale))
    x, y, total = tracer.value(op.x), tracer.value(op.y), tracer.value(op.acc)
    x_scale, y_scale = tracer.value(op.x_scale), tracer.value(op.y_scale)
    is_tritons = x_dtype in _SCALED and y_dtype in _SCALED and scale_dtype == "float8_e8m0fnu"
    if is_tritons and len(shape_of(x)) == 2:
        y_scale = tracer.semantic.permute(y_scale, (1, 0))
        formats = [core.constexpr(_SCALED[d]) for d in (x_dtype, y_dtype)]
        return core.dot_scaled(x, x_scale, formats[0], y, y_scale, formats[1], acc=total, _semantic=tracer.semantic)
    shape, depth = shape_of(total), len(shape_of(x)) - 1
    x = _with_scales(tracer, _number(tracer, x, x_dtype), _number(tracer, x_scale, scale_dtype), depth)
    y = _with_scales(tracer, _number(tracer, y, y_dtype), _number(tracer, y_scale, scale_dtype), depth - 1)
    x, y, total = (_of_rank_3(tracer, v) for v in (x, y, total))
    return reshape(tracer, _product(tracer, x, y, total, "ieee"), shape)


def _number(tracer: Tracer, value: core.tensor, dtype: str) -> core.tensor:
    return number_of(tracer, value, dtype) if dtype in NUMBERS else cast(tracer, value, core.float32)


def _with_scales(tracer: Tracer, value: core.tensor, scale: core.tensor, axis: int) -> core.tensor:
    """Each block along an axis times its scale."""
    shape, blocks = shape_of(value), list(shape_of(scale))
    wide = [*shape[:axis], blocks[axis], shape[axis] // blocks[axis], *shape[axis + 1 :]]
    scale = spread(tracer, reshape(tracer, scale, [*blocks[: axis + 1], 1, *blocks[axis + 1 :]]), wide)
    value = reshape(tracer, value, wide)
    made = reshape(tracer, tracer.make("create_fmul", value.type, value, scale), shape)
    return cast(tracer, made, core.bfloat16)
