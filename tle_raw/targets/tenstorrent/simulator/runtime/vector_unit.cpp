// The vector unit (SFPU): operations on destination registers, in fp32 by the C library, rounded to what a register
// keeps.
#include <bit>
#include <cmath>

#include "failure.hpp"
#include "numbers.hpp"
#include "registers.hpp"

namespace tt_sim {
namespace {
float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }

// Instructions of a pass over 32 lanes.
double steps(Sfpu operation, bool approximate) {
    switch (operation) {
        case Sfpu::exp:
        case Sfpu::exp2:
        case Sfpu::expm1: return approximate ? 8 : 24;
        case Sfpu::log:
        case Sfpu::log1p:
        case Sfpu::tanh:
        case Sfpu::sigmoid:
        case Sfpu::silu:
        case Sfpu::gelu:
        case Sfpu::gelu_tanh:
        case Sfpu::erf:
        case Sfpu::erfc:
        case Sfpu::elu:
        case Sfpu::softplus: return approximate ? 12 : 28;
        case Sfpu::recip:
        case Sfpu::sqrt:
        case Sfpu::rsqrt:
        case Sfpu::cbrt:
        case Sfpu::div:
        case Sfpu::div_scalar: return approximate ? 8 : 16;
        case Sfpu::sin:
        case Sfpu::cos:
        case Sfpu::tan:
        case Sfpu::asin:
        case Sfpu::acos:
        case Sfpu::atan:
        case Sfpu::sinh:
        case Sfpu::cosh:
        case Sfpu::asinh:
        case Sfpu::acosh:
        case Sfpu::atanh:
        case Sfpu::power:
        case Sfpu::pow: return 36;
        default: return 4;
    }
}

float unary(Sfpu operation, float x, const uint32_t* words) {
    const float a = as_float(words[0]), b = as_float(words[1]);
    switch (operation) {
        case Sfpu::exp: return std::exp(x);
        case Sfpu::exp2: return std::exp2(x);
        case Sfpu::expm1: return std::expm1(x);
        case Sfpu::log: return std::log(x);
        case Sfpu::log1p: return std::log1p(x);
        case Sfpu::recip: return 1 / x;
        case Sfpu::sqrt: return std::sqrt(x);
        case Sfpu::rsqrt: return 1 / std::sqrt(x);
        case Sfpu::cbrt: return std::cbrt(x);
        case Sfpu::abs: return std::fabs(x);
        case Sfpu::negative: return -x;
        case Sfpu::square: return x * x;
        case Sfpu::sign: return x > 0 ? 1.f : x < 0 ? -1.f : 0.f;
        case Sfpu::relu: return x > 0 || std::isnan(x) ? x : 0;
        case Sfpu::relu_max: return x > a ? a : x > 0 ? x : 0;
        case Sfpu::relu_min: return x > a ? x : a;
        case Sfpu::leaky_relu: return x >= 0 ? x : x * a;
        case Sfpu::elu: return x >= 0 ? x : a * std::expm1(x);
        case Sfpu::gelu: return 0.5f * x * (1 + std::erf(x * 0.70710678f));
        case Sfpu::gelu_tanh: return 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
        case Sfpu::sigmoid: return 1 / (1 + std::exp(-x));
        case Sfpu::silu: return x / (1 + std::exp(-x));
        case Sfpu::tanh: return std::tanh(x);
        case Sfpu::erf: return std::erf(x);
        case Sfpu::erfc: return std::erfc(x);
        case Sfpu::sin: return std::sin(x);
        case Sfpu::cos: return std::cos(x);
        case Sfpu::tan: return std::tan(x);
        case Sfpu::asin: return std::asin(x);
        case Sfpu::acos: return std::acos(x);
        case Sfpu::atan: return std::atan(x);
        case Sfpu::sinh: return std::sinh(x);
        case Sfpu::cosh: return std::cosh(x);
        case Sfpu::asinh: return std::asinh(x);
        case Sfpu::acosh: return std::acosh(x);
        case Sfpu::atanh: return std::atanh(x);
        case Sfpu::frac: return x - std::trunc(x);
        case Sfpu::ceil: return std::ceil(x);
        case Sfpu::floor: return std::floor(x);
        case Sfpu::trunc: return std::trunc(x);
        case Sfpu::power: return std::pow(x, a);
        case Sfpu::clamp: return std::fmin(std::fmax(x, a), b);
        case Sfpu::softplus: return x * a > as_float(words[2]) ? x : std::log1p(std::exp(x * a)) * b;
        case Sfpu::logical_not:
        case Sfpu::eqz: return x == 0;
        case Sfpu::nez: return x != 0;
        case Sfpu::ltz: return x < 0;
        case Sfpu::gtz: return x > 0;
        case Sfpu::lez: return x <= 0;
        case Sfpu::gez: return x >= 0;
        case Sfpu::add_scalar: return x + a;
        case Sfpu::sub_scalar: return x - a;
        case Sfpu::mul_scalar:
        case Sfpu::div_scalar: return x * a;  // a division is given its reciprocal
        case Sfpu::rsub_scalar: return a - x;
        case Sfpu::max_scalar: return std::fmax(x, a);
        case Sfpu::min_scalar: return std::fmin(x, a);
        case Sfpu::eq_scalar: return x == a;
        case Sfpu::ne_scalar: return x != a;
        case Sfpu::lt_scalar: return x < a;
        case Sfpu::gt_scalar: return x > a;
        case Sfpu::le_scalar: return x <= a;
        case Sfpu::ge_scalar: return x >= a;
        case Sfpu::fill:
        case Sfpu::fill_bits: return a;
        default: return x;
    }
}

float binary(Sfpu operation, float a, float b) {
    switch (operation) {
        case Sfpu::add: return a + b;
        case Sfpu::sub: return a - b;
        case Sfpu::rsub: return b - a;
        case Sfpu::mul: return a * b;
        case Sfpu::div: return a / b;
        case Sfpu::pow: return std::pow(a, b);
        case Sfpu::max: return std::fmax(a, b);
        case Sfpu::min: return std::fmin(a, b);
        case Sfpu::eq: return a == b;
        case Sfpu::ne: return a != b;
        case Sfpu::lt: return a < b;
        case Sfpu::gt: return a > b;
        case Sfpu::le: return a <= b;
        case Sfpu::ge: return a >= b;
        default: return a;
    }
}

uint32_t integer_result(Sfpu operation, uint32_t a, uint32_t b) {
    const auto x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
    switch (operation) {
        case Sfpu::relu_int: return x > 0 ? a : 0;
        case Sfpu::abs_int: return x < 0 ? 0u - a : a;
        case Sfpu::negative_int: return 0u - a;
        case Sfpu::add_int:
        case Sfpu::add_scalar_int: return a + b;
        case Sfpu::sub_int:
        case Sfpu::sub_scalar_int: return a - b;
        case Sfpu::rsub_int: return b - a;
        case Sfpu::mul_int: return a * b;
        case Sfpu::max_int: return x > y ? a : b;
        case Sfpu::min_int: return x < y ? a : b;
        case Sfpu::eq_int: return x == y;
        case Sfpu::ne_int: return x != y;
        case Sfpu::lt_int: return x < y;
        case Sfpu::gt_int: return x > y;
        case Sfpu::le_int: return x <= y;
        case Sfpu::ge_int: return x >= y;
        default: return a;
    }
}

bool takes_integers(Sfpu operation) {
    return (operation >= Sfpu::relu_int && operation <= Sfpu::sub_scalar_int) ||
           (operation >= Sfpu::add_int && operation <= Sfpu::ge_int);
}
bool takes_any(Sfpu operation) { return operation == Sfpu::copy || operation == Sfpu::identity; }

// Vector modes leave parts of a tile alone: R works on the two upper faces, C on the two left ones.
bool in_mode(VectorMode mode, uint32_t at) {
    switch (mode) {
        case VectorMode::R: return at < face_side * side;
        case VectorMode::C: return at % side < face_side;
        case VectorMode::None: return false;
        default: return true;
    }
}

Compute& ready(SfpuInit init, const char* call, Site site) {
    Compute& compute = computing(call, site);
    if (!compute.started) fail(site, text("%s before compute_kernel_hw_startup", call));
    if (init != SfpuInit::any && compute.sfpu != init)
        fail(site, text("%s, but the last init call of the vector unit was %s", call,
                        compute.sfpu == SfpuInit::none ? "none: its init is missing" : "another operation's"));
    return compute;
}

void check_kind(const DstTile& tile, Sfpu operation, uint32_t index, Site site) {
    if (takes_any(operation) || tile.integer == takes_integers(operation)) return;
    fail(site, text("an SFPU operation on %s, but destination register %u holds %s",
                    takes_integers(operation) ? "integers" : "floats", index, tile.integer ? "integers" : "floats"));
}

void charge_vector(Sfpu operation) {
    current->compute->math.work(sfpu_step * steps(operation, current->compute->options.approximate));
}
}  // namespace

void sfpu_init(SfpuInit init, Site site) {
    Compute& compute = computing("an SFPU init", site);
    if (!compute.started) fail(site, "an SFPU init before compute_kernel_hw_startup");
    compute.sfpu = init;
    compute.math.work(sfpu_init_cycles);
}

void sfpu(Sfpu operation, SfpuInit init, uint32_t dst, SfpuArguments arguments, Site site) {
    const Compute& compute = ready(init, "an SFPU operation", site);
    const bool fills = operation == Sfpu::fill || operation == Sfpu::fill_bits;
    DstTile& tile = fills ? math_tile(dst, "fill_tile", site) : written_tile(dst, "an SFPU operation", site);
    if (fills)
        tile.integer = operation == Sfpu::fill_bits && arguments.words[1] != 0;
    else
        check_kind(tile, operation, dst, site);
    for (uint32_t i = 0; i < tile_elements; ++i) {
        if (!in_mode(arguments.mode, i)) continue;
        if (fills && tile.integer)
            tile.bits[i] = arguments.words[0];
        else if (takes_integers(operation))
            tile.bits[i] = integer_result(operation, tile.bits[i], arguments.words[0]);
        else if (!takes_any(operation))
            tile.bits[i] =
                std::bit_cast<uint32_t>(compute.kept(unary(operation, as_float(tile.bits[i]), arguments.words)));
    }
    tile.written = true;
    charge_vector(operation);
}

void sfpu_binary(Sfpu operation, SfpuInit init, uint32_t left, uint32_t right, uint32_t out, Site site) {
    const char* call = "a binary SFPU operation";
    const Compute& compute = ready(init, call, site);
    const DstTile &a = written_tile(left, call, site),
                  &b = operation == Sfpu::copy ? a : written_tile(right, call, site);
    check_kind(a, operation, left, site);
    check_kind(b, operation, right, site);
    DstTile& to = math_tile(out, call, site);
    const bool integer = a.integer, reduced = a.reduced || b.reduced;
    for (uint32_t i = 0; i < tile_elements; ++i) {
        if (integer)
            to.bits[i] = integer_result(operation, a.bits[i], b.bits[i]);
        else if (operation == Sfpu::copy)
            to.bits[i] = a.bits[i];
        else
            to.bits[i] =
                std::bit_cast<uint32_t>(compute.kept(binary(operation, as_float(a.bits[i]), as_float(b.bits[i]))));
    }
    to.written = true;
    to.integer = integer;
    to.reduced = reduced;
    charge_vector(operation);
}

void sfpu_ternary(Sfpu operation, SfpuInit init, uint32_t first, uint32_t second, uint32_t third, uint32_t out,
                  Site site) {
    const char* call = "a ternary SFPU operation";
    ready(init, call, site);
    const DstTile &a = written_tile(first, call, site), &b = written_tile(second, call, site),
                  &c = written_tile(third, call, site);
    if (b.integer != c.integer) fail(site, "where_tile of integers and floats");
    DstTile& to = math_tile(out, call, site);
    const bool integer = b.integer, reduced = a.reduced || b.reduced || c.reduced;
    for (uint32_t i = 0; i < tile_elements; ++i) to.bits[i] = as_float(a.bits[i]) != 0 ? b.bits[i] : c.bits[i];
    to.written = true;
    to.integer = integer;
    to.reduced = reduced;
    charge_vector(operation);
}

void typecast(tt::DataFormat from, tt::DataFormat to, uint32_t dst, Site site) {
    const Compute& compute = ready(SfpuInit::typecast, "typecast_tile", site);
    DstTile& tile = written_tile(dst, "typecast_tile", site);
    if (tile.integer != is_integer(from))
        fail(site, text("typecast_tile from %s, but destination register %u holds %s", name_of(from), dst,
                        tile.integer ? "integers" : "floats"));
    for (uint32_t& bits : tile.bits) {
        if (is_integer(from) == is_integer(to)) continue;
        if (is_integer(to))
            bits = to == tt::DataFormat::Int32
                       ? static_cast<uint32_t>(static_cast<int32_t>(std::nearbyint(as_float(bits))))
                       : static_cast<uint32_t>(std::nearbyint(std::fmax(as_float(bits), 0.f)));
        else
            bits = std::bit_cast<uint32_t>(compute.kept(from == tt::DataFormat::Int32
                                                            ? static_cast<float>(static_cast<int32_t>(bits))
                                                            : static_cast<float>(bits)));
    }
    if (!is_integer(to))
        for (uint32_t& bits : tile.bits)
            bits =
                std::bit_cast<uint32_t>(to == tt::DataFormat::Float32 ? as_float(bits) : compute.kept(as_float(bits)));
    tile.integer = is_integer(to);
    charge_vector(Sfpu::identity);
}
}  // namespace tt_sim
