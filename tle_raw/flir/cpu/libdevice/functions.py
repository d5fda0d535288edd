"""Every function of libdevice that Triton's language can name: its operands, its result, its body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tle_raw.flir.cpu.libdevice import bessel, conversions, integers, norms, periodic, representation, rounding, special
from tle_raw.flir.cpu.libdevice.operations import LaneFunction, in_double, libm, multiply_add, nan_where, operation
from tle_raw.flir.cpu.math_functions.lanes import Lanes

Register = Callable[[str, str, str, LaneFunction], None]


@dataclass(frozen=True)
class LibdeviceFunction:
    """A device function; integers have no sign here, as everywhere in MLIR."""

    operands: tuple[str, ...]
    result: str
    body: LaneFunction


def _all() -> dict[str, LibdeviceFunction]:
    table: dict[str, LibdeviceFunction] = {}

    def one(symbol: str, operands: str, result: str, body: LaneFunction) -> None:
        table[f"__nv_{symbol}"] = LibdeviceFunction(tuple(operands.split()), result, body)

    def float_pair(name: str, arity: int, body: LaneFunction) -> None:
        """C's convention: the name with an f is the one of f32."""
        one(name + "f", " ".join(["f32"] * arity), "f32", body)
        one(name, " ".join(["f64"] * arity), "f64", body)

    for name, arity, body in _OF_FLOATS:
        float_pair(name, arity, body)
    for name, body in _FAST.items():
        one(name, " ".join(["f32"] * (2 if name in _BINARY_FAST else 1)), "f32", body)
    for symbol, operands, result, body in _SINGLE:
        one(symbol, operands, result, body)
    _add_directed_arithmetic(one)
    _add_conversions(one)
    return table


def _bessel_of_order(name: str) -> LaneFunction:
    """libm knows negative orders, CUDA does not."""
    return lambda n, x: nan_where(n < 0, libm(name)(n, x))


def _second_kind(name: str) -> LaneFunction:
    return lambda x: nan_where(x < 0.0, libm(name)(x))


def _second_kind_of_order(n: Lanes, x: Lanes) -> Lanes:
    return nan_where((n < 0) | (x < 0.0), libm("yn")(n, x))


_OF_FLOATS: list[tuple[str, int, LaneFunction]] = [
    *((name, 1, operation(f"math.{name}")) for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt")),
    *((name, 1, operation(f"math.{name}")) for name in ("ceil", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1")),
    *((name, 1, operation(f"math.{name}")) for name in ("floor", "log", "log10", "log1p", "log2", "round", "rsqrt")),
    *((name, 1, operation(f"math.{name}")) for name in ("sin", "sinh", "sqrt", "tan", "tanh", "trunc")),
    ("fabs", 1, operation("math.absf")),
    ("rint", 1, operation("math.roundeven")),
    ("nearbyint", 1, operation("math.roundeven")),
    ("atan2", 2, operation("math.atan2")),
    ("copysign", 2, operation("math.copysign")),
    ("fmod", 2, operation("arith.remf")),
    ("pow", 2, operation("math.powf")),
    ("remainder", 2, libm("remainder")),
    ("fma", 3, multiply_add),
    ("fmin", 2, operation("arith.minnumf")),
    ("fmax", 2, operation("arith.maxnumf")),
    ("exp10", 1, norms.exp10),
    ("rcbrt", 1, norms.reciprocal_cube_root),
    ("hypot", 2, norms.length),
    ("norm3d", 3, norms.length),
    ("norm4d", 4, norms.length),
    ("rhypot", 2, norms.reciprocal_length),
    ("rnorm3d", 3, norms.reciprocal_length),
    ("rnorm4d", 4, norms.reciprocal_length),
    ("sinpi", 1, periodic.sinpi),
    ("cospi", 1, periodic.cospi),
    ("fdim", 2, representation.positive_difference),
    ("logb", 1, representation.logb),
    ("nextafter", 2, representation.next_after),
    ("tgamma", 1, libm("tgamma")),
    ("lgamma", 1, libm("lgamma")),
    ("j0", 1, libm("j0")),
    ("j1", 1, libm("j1")),
    ("y0", 1, _second_kind("y0")),
    ("y1", 1, _second_kind("y1")),
    ("cyl_bessel_i0", 1, in_double(bessel.i0)),
    ("cyl_bessel_i1", 1, in_double(bessel.i1)),
    ("erfcx", 1, in_double(special.erfcx)),
    ("erfinv", 1, in_double(special.erfinv)),
    ("erfcinv", 1, in_double(special.erfcinv)),
    ("normcdf", 1, in_double(special.normcdf)),
    ("normcdfinv", 1, in_double(special.normcdfinv)),
]

# Less exact on a GPU; here as exact as the others, which are fast.
_FAST: dict[str, LaneFunction] = {
    "fast_sinf": operation("math.sin"),
    "fast_cosf": operation("math.cos"),
    "fast_tanf": operation("math.tan"),
    "fast_expf": operation("math.exp"),
    "fast_exp10f": norms.exp10,
    "fast_logf": operation("math.log"),
    "fast_log2f": operation("math.log2"),
    "fast_log10f": operation("math.log10"),
    "fast_powf": operation("math.powf"),
    "fast_fdividef": operation("arith.divf"),
}
_BINARY_FAST = ("fast_powf", "fast_fdividef")

_SINGLE: list[tuple[str, str, str, LaneFunction]] = [
    # floats with integers
    ("powif", "f32 i32", "f32", norms.whole_power),
    ("powi", "f64 i32", "f64", norms.whole_power),
    ("ldexpf", "f32 i32", "f32", representation.scale_by_power),
    ("ldexp", "f64 i32", "f64", representation.scale_by_power),
    ("scalbnf", "f32 i32", "f32", representation.scale_by_power),
    ("scalbn", "f64 i32", "f64", representation.scale_by_power),
    ("jnf", "i32 f32", "f32", _bessel_of_order("jn")),
    ("jn", "i32 f64", "f64", _bessel_of_order("jn")),
    ("ynf", "i32 f32", "f32", _second_kind_of_order),
    ("yn", "i32 f64", "f64", _second_kind_of_order),
    ("ilogbf", "f32", "i32", representation.ilogb),
    ("ilogb", "f64", "i32", representation.ilogb),
    # what a float is
    ("isnanf", "f32", "i32", representation.is_nan),
    ("isnand", "f64", "i32", representation.is_nan),
    ("isinff", "f32", "i32", representation.is_infinite),
    ("isinfd", "f64", "i32", representation.is_infinite),
    ("finitef", "f32", "i32", representation.finite),
    ("isfinited", "f64", "i32", representation.finite),
    ("signbitf", "f32", "i32", representation.sign_bit),
    ("signbitd", "f64", "i32", representation.sign_bit),
    ("saturatef", "f32", "f32", representation.saturate),
    ("rcp64h", "f64", "f64", representation.reciprocal_high),
    # bits
    ("hiloint2double", "i32 i32", "f64", representation.from_halves),
    ("double2loint", "f64", "i32", representation.low_half),
    ("double2hiint", "f64", "i32", representation.high_half),
    ("int_as_float", "i32", "f32", representation.as_number),
    ("uint_as_float", "i32", "f32", representation.as_number),
    ("float_as_int", "f32", "i32", representation.as_bits),
    ("float_as_uint", "f32", "i32", representation.as_bits),
    ("longlong_as_double", "i64", "f64", representation.as_number),
    ("double_as_longlong", "f64", "i64", representation.as_bits),
    # integers
    ("clz", "i32", "i32", integers.count_leading_zeros),
    ("clzll", "i64", "i32", integers.count_leading_zeros),
    ("popc", "i32", "i32", integers.count_ones),
    ("popcll", "i64", "i32", integers.count_ones),
    ("ffs", "i32", "i32", integers.first_set),
    ("ffsll", "i64", "i32", integers.first_set),
    ("brev", "i32", "i32", integers.reverse_bits),
    ("brevll", "i64", "i64", integers.reverse_bits),
    ("byte_perm", "i32 i32 i32", "i32", integers.permute_bytes),
    ("abs", "i32", "i32", integers.absolute),
    ("llabs", "i64", "i64", integers.absolute),
    ("mulhi", "i32 i32", "i32", integers.high_product),
    ("umulhi", "i32 i32", "i32", integers.unsigned_high_product),
    ("mul64hi", "i64 i64", "i64", integers.high_product),
    ("umul64hi", "i64 i64", "i64", integers.unsigned_high_product),
    ("mul24", "i32 i32", "i32", integers.product_24),
    ("umul24", "i32 i32", "i32", integers.unsigned_product_24),
    ("sad", "i32 i32 i32", "i32", integers.add_difference),
    ("usad", "i32 i32 i32", "i32", integers.unsigned_add_difference),
    ("hadd", "i32 i32", "i32", integers.average),
    ("uhadd", "i32 i32", "i32", integers.unsigned_average),
    ("rhadd", "i32 i32", "i32", integers.average_up),
    ("urhadd", "i32 i32", "i32", integers.unsigned_average_up),
]


def _add_directed_arithmetic(one: Register) -> None:
    for direction in rounding.DIRECTIONS:
        for letter, kind in (("f", "f32"), ("d", "f64")):
            two = f"{kind} {kind}"
            one(f"{letter}add_{direction}", two, kind, rounding.add(direction))
            one(f"{letter}sub_{direction}", two, kind, rounding.subtract(direction))
            one(f"{letter}mul_{direction}", two, kind, rounding.multiply(direction))
            one(f"{letter}div_{direction}", two, kind, rounding.divide(direction))
            one(f"{letter}rcp_{direction}", kind, kind, rounding.reciprocal(direction))
            one(f"{letter}sqrt_{direction}", kind, kind, rounding.square_root(direction))
        one(f"fmaf_{direction}", "f32 f32 f32", "f32", rounding.fused_multiply_add(direction))
        one(f"fma_{direction}", "f64 f64 f64", "f64", rounding.fused_multiply_add(direction))
    one("frsqrt_rn", "f32", "f32", norms.reciprocal_square_root)


def _add_conversions(one: Register) -> None:
    integer_types = (("int", 32, True), ("uint", 32, False), ("ll", 64, True), ("ull", 64, False))
    for direction in rounding.DIRECTIONS:
        for name, width, signed in integer_types:
            for source, kind in (("float", "f32"), ("double", "f64")):
                to_integer = conversions.round_to_integer(width, signed, direction)
                one(f"{source}2{name}_{direction}", kind, f"i{width}", to_integer)
                if source == "double" and width == 32 and direction != "rn":
                    continue  # always exact: libdevice has no others
                to_float = conversions.integer_to_float(int(kind[1:]), signed, direction)
                one(f"{name}2{source}_{direction}", f"i{width}", kind, to_float)
        one(f"double2float_{direction}", "f64", "f32", conversions.double_to_float(direction))
    for name, direction in (("llrint", "math.roundeven"), ("llround", "math.round")):
        to_integer = conversions.float_to_integer(64, True, operation(direction))
        one(f"{name}f", "f32", "i64", to_integer)
        one(name, "f64", "i64", to_integer)


FUNCTIONS = _all()
