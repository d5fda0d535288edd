// Names of the vector unit's operations, and of the set-ups that they need.
#pragma once
#include <cstdint>

namespace tt_sim {
// clang-format off
enum class Sfpu : uint8_t {
    // one tile
    exp, exp2, expm1, log, log1p, recip, sqrt, rsqrt, cbrt, abs, negative, square, sign, relu, relu_max,
    relu_min, leaky_relu, elu, gelu, gelu_tanh,
    sigmoid, silu, tanh, erf, erfc, sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh, ceil,
    floor, trunc, frac, identity, fill, fill_bits, power, clamp, softplus, logical_not,
    add_scalar, sub_scalar, mul_scalar, div_scalar, rsub_scalar, max_scalar, min_scalar,
    eqz, nez, ltz, gtz, lez, gez, eq_scalar, ne_scalar, lt_scalar, gt_scalar, le_scalar, ge_scalar,
    // one tile of integers
    relu_int, abs_int, negative_int, add_scalar_int, sub_scalar_int,
    // two tiles
    add, sub, mul, div, rsub, pow, max, min, eq, ne, lt, gt, le, ge, copy,
    add_int, sub_int, rsub_int, mul_int, max_int, min_int, eq_int, ne_int, lt_int, gt_int, le_int, ge_int,
    // three tiles
    where,
};

enum class SfpuInit : uint8_t {
    none, any, exp, exp2, expm1, log, log1p, recip, sqrt, rsqrt, cbrt, abs, negative, square, sign, relu,
    relu_max, leaky_relu, elu, gelu, gelu_tanh,
    sigmoid, silu, tanh, erf, erfc, sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh, rounding,
    identity, fill, power, clamp, softplus, logical_not, scalar, max_scalar, min_scalar,
    eqz, nez, ltz, gtz, lez, gez, eq_scalar, ne_scalar, lt_scalar, gt_scalar, le_scalar, ge_scalar,
    add, sub, mul, div, rsub, pow, max, min, eq, ne, lt, gt, le, ge, copy, add_int, sub_int, rsub_int, mul_int,
    max_int, min_int,
    eq_int, ne_int, lt_int, gt_int, le_int, ge_int, where, typecast,
};
// clang-format on
}  // namespace tt_sim
