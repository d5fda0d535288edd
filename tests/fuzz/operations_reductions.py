"""Reductions, scans, sorting, histograms and products of tiles."""

from __future__ import annotations

from tests.fuzz.building import Builder
from tests.fuzz.operations_elementwise import add_or_subtract
from tests.fuzz.values import FLOATS, INTEGERS, NUMBERS, Value, rounding

# Whoever adds up in another order gets another sum: these are within the error that any order has.


def reduced(b: Builder, x: Value) -> tuple[str, tuple[int, ...], int]:
    """The arguments that say along which axis, the shape that is left, and how many elements become one."""
    axis = b.choice([*range(len(x.shape)), None])
    keep = b.integer(0, 3) == 0
    if axis is None:
        return f"None{', keep_dims=True' * keep}", (1,) * len(x.shape) * keep, x.size
    left = tuple(1 if i == axis else d for i, d in enumerate(x.shape) if keep or i != axis)
    return f"{axis}{', keep_dims=True' * keep}", left, x.shape[axis]


def sum_(b: Builder) -> Value:
    x = b.value(FLOATS if not b.exact_only and b.flag() else INTEGERS)
    if x.is_float:
        x = b.bounded(x, 4.0)
    arguments, shape, count = reduced(b, x)
    text = f"tl.sum({x.name}, {arguments}).to(tl.{x.dtype})"
    if not x.is_float:
        return b.emit(text, x.dtype, shape)
    return b.emit(text, x.dtype, shape, count * x.largest, sum_error(x, count))


def sum_error(x: Value, count: int) -> float:
    return count * x.error + count * rounding(x.dtype, count * x.largest)


def softmax(b: Builder) -> Value:
    if b.exact_only:
        return extreme(b)
    x = b.bounded(b.value(("float32", "float64"), ranks=(1,)), 4.0)
    error = 4 * x.error + (x.size + 20) * rounding(x.dtype, 1.0)
    return b.like(x, f"tl.softmax({x.name})", largest=1.0, error=error)


def extreme(b: Builder) -> Value:
    x = b.value(NUMBERS)
    arguments, shape, _ = reduced(b, x)
    return b.like(x, f"tl.{b.choice(['max', 'min'])}({x.name}, {arguments}).to(tl.{x.dtype})", shape=shape)


def place_of_extreme(b: Builder) -> Value:
    """Of equal ones the first; no NaN, which has no order."""
    x = b.exact_finite(NUMBERS)
    axis = b.integer(0, len(x.shape) - 1)
    shape = tuple(d for i, d in enumerate(x.shape) if i != axis)
    name = b.choice(["max", "min"])
    if b.flag():
        return b.emit(f"tl.arg{name}({x.name}, {axis})", "int32", shape)
    value, place = b.name(), b.name()
    b.line(f"{value}, {place} = tl.{name}({x.name}, {axis}, return_indices=True)")
    b.emit(f"{value}.to(tl.{x.dtype})", x.dtype, shape, x.largest)
    return b.emit(place, "int32", shape)


def bits_of_all(b: Builder) -> Value:
    x = b.value(INTEGERS)
    arguments, shape, _ = reduced(b, x)
    return b.emit(f"tl.{b.choice(['xor_sum', 'reduce_or'])}({x.name}, {arguments})", x.dtype, shape)


# Associative and commutative, on integers of any width: the order does not matter.
COMBINE = ("a * b", "a & b", "a + b", "tl.minimum(a, b)", "(a ^ b)", "tl.where(a > b, a, b)")


def reduce_by_function(b: Builder) -> Value:
    x = b.value(INTEGERS)
    function = b.helper("combine", "a, b", f"    return {b.choice(COMBINE)}")
    axis, keep = b.integer(0, len(x.shape) - 1), b.integer(0, 3) == 0
    shape = tuple(1 if i == axis else d for i, d in enumerate(x.shape) if keep or i != axis)
    return b.emit(f"tl.reduce({x.name}, {axis}, {function}{', keep_dims=True' * keep})", x.dtype, shape)


def reduce_pairs(b: Builder) -> Value:
    """Two tiles at once: the product of the first, the sum of the second, or the largest with its companion."""
    x = b.value(("int32", "int64", "uint32"))
    y = b.value(("int32",), x.shape)
    body = b.choice(
        [
            "    return a * c, b + d",
            # The pair that is larger; the companion decides between equal ones, so that any order will do.
            "    first = (a > c) | ((a == c) & (b > d))\n    return tl.where(first, a, c), tl.where(first, b, d)",
        ]
    )
    function = b.helper("combine", "a, b, c, d", body)
    axis = b.integer(0, len(x.shape) - 1)
    shape = tuple(d for i, d in enumerate(x.shape) if i != axis)
    names = b.name(), b.name()
    b.line(f"{names[0]}, {names[1]} = tl.reduce(({x.name}, {y.name}), {axis}, {function})")
    b.values += [Value(names[0], x.dtype, shape), Value(names[1], y.dtype, shape)]
    return b.values[-1]


def cumulative(b: Builder) -> Value:
    name = b.choice(["cumsum", "cumprod"])
    x = b.value(INTEGERS if b.exact_only or b.flag() else ("float16", "float32", "float64"))
    axis = b.integer(0, len(x.shape) - 1)
    count = x.shape[axis]
    if x.is_float:
        x = b.bounded(x, 4.0 if name == "cumsum" else 1.0)
    text = f"tl.{name}({x.name}, {axis}{', reverse=True' * b.flag()}).to(tl.{x.dtype})"
    if not x.is_float:
        return b.emit(text, x.dtype, x.shape)
    if name == "cumsum":
        return b.emit(text, x.dtype, x.shape, count * x.largest, sum_error(x, count))
    return b.emit(text, x.dtype, x.shape, 1.0, count * (x.error + rounding(x.dtype, 1.0)))


def scan_by_function(b: Builder) -> Value:
    """Associative only: the order of a scan is the order of the elements."""
    x = b.value(INTEGERS)
    body = b.choice([*COMBINE, "b + 0 * a", "a"])
    function = b.helper("combine", "a, b", f"    return {body}")
    axis = b.integer(0, len(x.shape) - 1)
    return b.emit(f"tl.associative_scan({x.name}, {axis}, {function}{', reverse=True' * b.flag()})", x.dtype, x.shape)


def scan_pairs(b: Builder) -> Value:
    """Compositions of x -> a * x + b, which do not commute."""
    x = b.value(("int32", "uint32", "int64"))
    y = b.value((x.dtype,), x.shape)
    function = b.helper("combine", "a, b, c, d", "    return a * c, c * b + d")
    axis = b.integer(0, len(x.shape) - 1)
    names = b.name(), b.name()
    reverse = ", reverse=True" * b.flag()
    b.line(f"{names[0]}, {names[1]} = tl.associative_scan(({x.name}, {y.name}), {axis}, {function}{reverse})")
    b.values += [Value(name, x.dtype, x.shape) for name in names]
    return b.values[-1]


def sort(b: Builder) -> Value:
    x = b.exact_finite(NUMBERS, where=lambda v: v.shape[-1] > 1 and v.size <= 256)
    if x.shape[-1] == 1 or x.size > 256:
        return extreme(b)
    if b.integer(0, 3) == 0:
        k = b.choice([k for k in (2, 4, 8) if k <= x.shape[-1]])
        return b.like(x, f"tl.topk({x.name}, {k})", shape=(*x.shape[:-1], k))
    return b.like(x, f"tl.sort({x.name}{', descending=True' * b.flag()})")


def histogram(b: Builder) -> Value:
    x = b.value(INTEGERS, ranks=(1,))
    bins = b.choice([2, 8, 16, 64])
    inside = b.emit(f"{x.name}.to(tl.int32) & {bins - 1}", "int32", x.shape)
    mask = f", mask={b.mask(x.shape)}" if b.flag() else ""
    return b.emit(f"tl.histogram({inside.name}, {bins}{mask})", "int32", (bins,))


def dot(b: Builder) -> Value:
    """Products of tiles; of floats up to the order of adding up, of bytes exactly."""
    dtype = b.choice(["float32", "float16", "bfloat16", "int8", "float64"])
    if dtype in FLOATS and b.exact_only:
        return add_or_subtract(b)
    batch = (2,) if b.integer(0, 4) == 0 else ()
    m, n, k = b.choice([(16, 16, 32), (16, 32, 32), (32, 16, 64), *[(64, 16, 16), (16, 16, 16)] * (dtype != "int8")])
    x = b.value((dtype,), (*batch, m, k))
    y = b.value((dtype,), (*batch, k, n))
    shape = (*batch, m, n)
    if dtype == "int8":
        start = b.choice(["", f", acc={b.value(('int32',), shape).name}"])
        return b.emit(f"tl.dot({x.name}, {y.name}{start}, out_dtype=tl.int32)", "int32", shape)
    x, y = b.bounded(x, 4.0), b.bounded(y, 4.0)
    result = "float64" if dtype == "float64" else "float32"
    largest = k * x.largest * y.largest
    error = k * (x.error * y.largest + y.error * x.largest + x.error * y.error) + k * rounding(result, largest)
    start = ""
    if b.flag():
        acc = b.bounded(b.value((result,), shape), 64.0)
        start = f", acc={acc.name}"
        largest, error = largest + acc.largest, error + acc.error + rounding(result, acc.largest + largest)
    precision = ', input_precision="ieee"' if dtype == "float32" else ""
    out = f", out_dtype=tl.{result}" if result == "float64" else ""
    return b.emit(f"tl.dot({x.name}, {y.name}{start}{precision}{out})", result, shape, largest, error)


OPERATIONS = (
    sum_,
    extreme,
    place_of_extreme,
    bits_of_all,
    reduce_by_function,
    reduce_pairs,
    cumulative,
    scan_by_function,
    scan_pairs,
    sort,
    histogram,
    dot,
    softmax,
)
