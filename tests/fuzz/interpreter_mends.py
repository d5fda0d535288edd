"""Where Triton's interpreter computes something else than the language says, and the NumPy model that is used instead.

Known differences of the interpreter, with the versions that have them:

=============================== ======== ==============================================================================
what                            versions why the interpreter is wrong
=============================== ======== ==============================================================================
arithmetic on bfloat16          all      it computes with the 16 bits as unsigned integers
casts to bfloat16               all      float32 to bfloat16 cuts off instead of rounding to nearest even; casts from
                                         and to integers take the bits for the number
casts to fp8                    all      rounds half up, and a carry out of the significand is lost
dot of bfloat16 and fp8         all      multiplies the bits; fp8 goes through the casts above
atomic exchange of floats       all      it has none
constants of bfloat16           3.6      none can be made
minimum, maximum, clamp         3.6      a NaN wins although ``propagate_nan`` is not asked for
fma                             3.6-3.8  rounds twice
umulhi                          3.6      multiplies signed numbers
right shift                     3.6      changes its operand
histogram                       3.6      counts a value equal to the number of bins in the last one; float counts
a tensor as an index            3.6      NumPy 2.4 makes no number of an array of one element
argmax, argmin, "fast" ties     3.6      falls through to a slow path; NaN wins in the other
sums that become a scalar       3.6      NumPy 2 refuses numbers that are out of range
reverse scans                   3.6      a view with negative strides is stored as if it had none
bool in arithmetic              3.6      saturates instead of wrapping around
float arguments                 all      stay Python floats, which promote like literals and not like fp32 scalars
=============================== ======== ==============================================================================
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

# bits of the exponent and of the significand without the leading one; largest number; does it have infinities
FORMATS = {
    "bf16": (8, 7, float.fromhex("0x1.fep127"), True),
    "fp8e5": (5, 2, 57344.0, True),
    "fp8e4nv": (4, 3, 448.0, False),
}


def is_packed(dtype: Any) -> bool:
    """A format that NumPy does not have; the interpreter holds its bits in an unsigned integer."""
    return getattr(dtype, "name", "") in FORMATS


def decode(bits: np.ndarray, dtype: Any) -> np.ndarray:
    """The numbers, as float32, which holds all of them."""
    exponent_bits, fraction_bits, _, infinities = FORMATS[dtype.name]
    bits = bits.astype(np.int64)
    fraction = bits & ((1 << fraction_bits) - 1)
    exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    significand = np.where(exponent > 0, fraction + (1 << fraction_bits), fraction)
    value = np.ldexp(significand.astype(np.float64), np.maximum(exponent, 1) - bias - fraction_bits)
    top = exponent == (1 << exponent_bits) - 1
    if infinities:
        value = np.where(top, np.where(fraction == 0, np.inf, np.nan), value)
    else:
        value = np.where(top & (fraction == (1 << fraction_bits) - 1), np.nan, value)
    return np.where(bits >> (exponent_bits + fraction_bits) & 1, -value, value).astype(np.float32)


def encode(value: np.ndarray, dtype: Any) -> np.ndarray:
    """Round to nearest, ties to even; what is too large is infinite, or the largest number where there is no such."""
    exponent_bits, fraction_bits, largest, infinities = FORMATS[dtype.name]
    bias = (1 << (exponent_bits - 1)) - 1
    value = np.asarray(value, np.float64)
    size = np.abs(value)
    finite = np.where(np.isfinite(size), size, 0.0)
    exponent = np.where(finite == 0, 1 - bias, np.maximum(np.frexp(finite)[1] - 1, 1 - bias))
    steps = np.rint(np.ldexp(finite, fraction_bits - exponent)).astype(np.int64)  # of the last bit
    # A subnormal has no leading one to take away, and a carry goes into the exponent by itself.
    bits = ((exponent + bias - 1) << fraction_bits) + steps
    infinity = ((1 << exponent_bits) - 1) << fraction_bits
    over = (np.ldexp(steps.astype(np.float64), exponent - fraction_bits) > largest) | np.isinf(size)
    greatest = infinity if infinities else infinity + (1 << fraction_bits) - 2
    bits = np.where(over, greatest, bits)
    bits = np.where(np.isnan(value), infinity + (1 << fraction_bits) - 1, bits)
    bits = bits + (np.signbit(value).astype(np.int64) << (exponent_bits + fraction_bits))
    return bits.astype(np.uint16 if dtype.name == "bf16" else np.uint8)


def numbers(handle: TensorHandle) -> np.ndarray:
    return decode(handle.data, handle.dtype.scalar) if is_packed(handle.dtype.scalar) else handle.data


def handle_of(value: np.ndarray, dtype: Any) -> TensorHandle:
    dtype = dtype.scalar
    if is_packed(dtype):
        return TensorHandle(encode(value, dtype), dtype)
    return TensorHandle(np.asarray(value).astype(interpreter._get_np_dtype(dtype)), dtype)


def cast(self: Any, src: TensorHandle, dst_type: Any, *_: Any) -> TensorHandle:
    return handle_of(numbers(src), dst_type)


def elementwise(op: Any, *handles: TensorHandle, dtype: Any = None) -> TensorHandle:
    """Comparisons give bool, whatever their operands are; all else has the type of the operands."""
    value = op(*map(numbers, handles))
    return handle_of(value, tl.int1 if value.dtype == bool else dtype or handles[-1].dtype)


def binary(self: Any, lhs: TensorHandle, rhs: TensorHandle, op: Any) -> TensorHandle:
    if lhs.data.dtype == np.bool_ and rhs.data.dtype == np.bool_ and op in (np.add, np.subtract, np.multiply):
        value = op(lhs.data.astype(np.int8), rhs.data.astype(np.int8)) & 1
        return TensorHandle(value.astype(np.bool_), lhs.dtype.scalar)
    return elementwise(op, lhs, rhs, dtype=lhs.dtype)


def unary(self: Any, arg: TensorHandle, op: Any) -> TensorHandle:
    return elementwise(op, arg)


def fma(self: Any, x: TensorHandle, y: TensorHandle, z: TensorHandle) -> TensorHandle:
    """One rounding: by fractions for float64, by long double for what is smaller."""

    def in_long_double(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        return a.astype(np.longdouble) * b.astype(np.longdouble) + c.astype(np.longdouble)

    return elementwise(exact_fma if z.dtype.scalar == tl.float64 else in_long_double, x, y, z)


@np.vectorize(otypes=[np.float64])
def exact_fma(a: float, b: float, c: float) -> float:
    if not np.isfinite([a, b, c]).all():
        return a * b + c
    try:
        return float(Fraction(a) * Fraction(b) + Fraction(c))
    except OverflowError:
        return a * b


def clamp(self: Any, arg: TensorHandle, low: TensorHandle, high: TensorHandle, propagate: Any) -> TensorHandle:
    if propagate == ir.PROPAGATE_NAN.NONE:
        return elementwise(lambda a, b, c: np.fmin(np.fmax(a, b), c), arg, low, high)
    return elementwise(np.clip, arg, low, high)


def dot(self: Any, a: TensorHandle, b: TensorHandle, d: TensorHandle, *_: Any) -> TensorHandle:
    """Products are added up in the widest type around and rounded once."""
    wide = np.int64 if d.dtype.scalar.is_int() else np.float64
    total = np.matmul(numbers(a).astype(wide), numbers(b).astype(wide)) + numbers(d).astype(wide)
    return handle_of(total, d.dtype)


def high_product(self: Any, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
    dtype = lhs.data.dtype
    bits = dtype.itemsize * 8
    pair = np.broadcast_arrays(lhs.data, rhs.data)
    x, y = (p.astype(object) & ((1 << bits) - 1) for p in pair)
    value = (x * y >> bits).astype(np.dtype(f"uint{bits}")).view(dtype)
    return TensorHandle(value, lhs.dtype.scalar)


def right_shift(self: Any, lhs: TensorHandle, rhs: TensorHandle) -> TensorHandle:
    signed = np.dtype(f"int{lhs.data.dtype.itemsize * 8}")
    value = np.right_shift(lhs.data.astype(signed), rhs.data.astype(signed))
    return TensorHandle(value.astype(lhs.data.dtype), lhs.dtype.scalar)


def histogram(self: Any, data: TensorHandle, bins: int, mask: TensorHandle | None) -> TensorHandle:
    kept = np.ones(data.data.shape, bool) if mask is None else mask.data
    kept = kept & (data.data >= 0) & (data.data < bins)
    return TensorHandle(np.bincount(data.data[kept], minlength=bins).astype(np.int32), tl.int32)


def all_ones(self: Any, type: Any) -> TensorHandle:
    dtype = interpreter._get_np_dtype(type)
    return TensorHandle(~np.zeros(1, dtype), type.scalar)


def argument(convert: Any) -> Any:
    def converted(arg: Any) -> Any:
        if isinstance(arg, float):
            return tl.tensor(TensorHandle(np.array([arg], np.float32), tl.float32), tl.float32)
        return convert(arg)

    return converted


def atomic(atomic_rmw: Any) -> Any:
    """An exchange moves bits, whatever they mean; the interpreter knows it for integers only."""

    def applied(self: Any, operation: Any, pointer: Any, value: TensorHandle, *rest: Any) -> TensorHandle:
        dtype = value.data.dtype
        if operation != ir.ATOMIC_OP.XCHG or dtype.kind != "f":
            return atomic_rmw(self, operation, pointer, value, *rest)
        bits = TensorHandle(np.ascontiguousarray(value.data).view(f"uint{8 * dtype.itemsize}"), value.dtype)
        before = atomic_rmw(self, operation, pointer, bits, *rest)
        return TensorHandle(before.data.view(dtype), value.dtype)

    return applied


def reduce(apply: Any) -> Any:
    """The ends of a tensor, ignoring NaN, the first of equal ones; sums; all else step by step."""
    standard = tl.standard
    ends = {
        standard._argmin_combine_tie_break_left: (np.nanmin, np.nanargmin),
        standard._argmin_combine_tie_break_fast: (np.nanmin, np.nanargmin),
        standard._argmax_combine_tie_break_left: (np.nanmax, np.nanargmax),
        standard._argmax_combine_tie_break_fast: (np.nanmax, np.nanargmax),
        standard._elementwise_max: (np.nanmax, None),
        standard._elementwise_min: (np.nanmin, None),
    }

    def applied(self: Any, input: Any) -> Any:
        packed = is_packed(input[0].dtype)
        if self.combine_fn is standard._sum_combine and not packed:
            return apply(self, input)
        if self.combine_fn not in ends:
            return reduce_in_steps(self, input)
        best, where = ends[self.combine_fn]
        data = numbers(input[0].handle)
        value = best(data, axis=self.axis, keepdims=self.keep_dims)
        value = self.to_tensor(encode(value, input[0].dtype) if packed else value, input[0].dtype)
        if where is None:
            return value
        return value, self.to_tensor(where(data, axis=self.axis, keepdims=self.keep_dims), tl.int32)

    return applied


def reduce_in_steps(self: Any, input: Any) -> list[Any]:
    rank = input[0].handle.data.ndim
    data = [a.handle.data if self.axis is not None else a.handle.data.reshape(-1) for a in input]
    last = [steps[-1] for steps in running(self, data, [a.dtype for a in input], self.axis or 0)]
    if self.keep_dims:
        last = [np.expand_dims(d, self.axis) if self.axis is not None else d.reshape((1,) * rank) for d in last]
    return [self.to_tensor(d, a.dtype) for d, a in zip(last, input)]


def scan(self: Any, input: Any) -> list[Any]:
    data = [np.flip(a.handle.data, self.axis) if self.reverse else a.handle.data for a in input]
    results = [np.stack(steps, self.axis) for steps in running(self, data, [a.dtype for a in input], self.axis)]
    return [
        self.to_tensor(np.ascontiguousarray(np.flip(r, self.axis) if self.reverse else r), a.dtype)
        for r, a in zip(results, input)
    ]


def running(self: Any, data: list[np.ndarray], dtypes: list[Any], axis: int) -> list[list[np.ndarray]]:
    """What the combination of the first 1, 2, 3 ... elements along the axis is; all along the other axes at once."""
    parts = [[np.array(part, order="C") for part in np.moveaxis(d, axis, 0)] for d in data]
    steps = [list(first) for first in zip(*(p[:1] for p in parts))]
    for elements in list(zip(*parts))[1:]:
        before = [self.to_tensor(d, t) for d, t in zip(steps[-1], dtypes)]
        combined = self.combine_fn.fn(*before, *(self.to_tensor(d, t) for d, t in zip(elements, dtypes)))
        combined = combined if isinstance(combined, tuple) else (combined,)
        steps.append([c.handle.data.reshape(d.shape).astype(d.dtype) for c, d in zip(combined, elements)])
    return [list(column) for column in zip(*steps)]


def to_tensor(self: Any, result: Any, dtype: Any) -> Any:
    """Sums that are Python's wrap around, as those of the language do."""
    value = np.asarray(result & (2**64 - 1) if isinstance(result, int) else result)
    value = value.astype(interpreter._get_np_dtype(dtype))
    block = tl.block_type(dtype, list(value.shape)) if value.shape else dtype
    return tl.tensor(TensorHandle(value if value.shape else value.reshape(1), dtype.scalar), block)


def patch_tensor(patch: Any) -> Any:
    def patched(tensor: Any, *scope: Any) -> None:
        patch(tensor, *scope)
        tensor.__index__ = lambda self: int(self.handle.data.reshape(()))

    return patched


def constant(self: Any, value: float) -> TensorHandle:
    return handle_of(np.array([value]), tl.bfloat16)


def patch_language(patch: Any) -> Any:
    """Only for speed: a function that is called within a kernel finds the language patched already."""

    def patched(function: Any) -> Any:
        languages = [v for v in function.__globals__.values() if v is tl or v is tl.core]
        if languages and not any(tl.core.is_builtin(language.load) for language in languages):
            return interpreter._LangPatchScope()
        return patch(function)

    return patched


def apply() -> None:
    """Put the models in the interpreter's place, in this process."""
    for name in ("create_fp_to_fp", "cast_impl"):
        setattr(InterpreterBuilder, name, cast)
    InterpreterBuilder.binary_op = binary
    InterpreterBuilder.unary_op = unary
    InterpreterBuilder.create_minnumf = lambda self, x, y: binary(self, x, y, np.fmin)
    InterpreterBuilder.create_maxnumf = lambda self, x, y: binary(self, x, y, np.fmax)
    InterpreterBuilder.create_fma = fma
    InterpreterBuilder.create_clampf = clamp
    InterpreterBuilder.create_dot = dot
    InterpreterBuilder.create_umulhi = high_product
    InterpreterBuilder.create_ashr = right_shift
    InterpreterBuilder.create_histogram = histogram
    InterpreterBuilder.create_atomic_rmw = atomic(InterpreterBuilder.create_atomic_rmw)
    InterpreterBuilder.get_bf16 = constant
    InterpreterBuilder.get_all_ones_value = all_ones
    interpreter._implicit_cvt = argument(interpreter._implicit_cvt)
    interpreter.ReduceScanOpInterface.to_tensor = to_tensor
    interpreter.ReduceOps.apply_impl = reduce(interpreter.ReduceOps.apply_impl)
    interpreter.ScanOps.apply_impl = scan
    interpreter._patch_lang_tensor = patch_tensor(interpreter._patch_lang_tensor)
    interpreter._patch_lang = patch_language(interpreter._patch_lang)
    interpreter.interpreter_builder.options = interpreter.InterpreterOptions(sanitize_overflow=False)
