// Half, bfloat16 and floats of 8, 6 and 4 bits, from and to double: every value of theirs is a double, and rounding
// happens once.
#ifndef TLE_RAW_TEAM_SMALL_FLOATS_H
#define TLE_RAW_TEAM_SMALL_FLOATS_H

#include <tle_raw/team/arithmetic.h>

namespace tle::team {

// A format of so many exponent and mantissa bits. e4m3 has no infinity, and one NaN of each sign: its exponent of
// all ones is a number like others. The smaller ones have no NaN either: there it becomes the largest number.
struct Format {
  int exponent_bits, mantissa_bits;
  bool has_infinity, has_nan = true;
  constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr u32 infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
  constexpr u32 largest() const { return has_infinity ? infinity() - 1 : nan() - has_nan; }
  constexpr u32 nan() const { return (1u << (exponent_bits + mantissa_bits)) - 1; }
};
constexpr Format HALF{5, 10, true}, BFLOAT{8, 7, true}, E4M3{4, 3, false}, E5M2{5, 2, true}, E2M1{2, 1, false, false},
    E2M3{2, 3, false, false}, E3M2{3, 2, false, false};

// Rounds up as often as what is cut off is near to the next number: where 16 random bits, added to it, carry.
constexpr u32 STOCHASTIC = 4;
static inline bool carries(u64 mantissa, int dropped, u32 random) {
  if (dropped > 53 + 16) return false;
  const unsigned __int128 one = (unsigned __int128)1 << dropped, cut = mantissa & (one - 1);
  return cut + ((unsigned __int128)random << (dropped - 16)) >= one;
}

// `saturate`: what is too large becomes the largest number, an infinity too.
static inline u32 narrow(double value, Format format, u32 rounding, bool saturate, u32 random = 0) {
  const u64 bits = __builtin_bit_cast(u64, value);
  const u32 sign = u32(bits >> 63) << (format.bits() - 1);
  const u64 magnitude = bits & ~(1ull << 63);
  if (!format.has_nan) saturate = true;
  if (magnitude > 0x7ffull << 52) return !format.has_nan ? format.largest() : format.exponent_bits == 4 ? sign | format.nan() : format.nan();
  if (magnitude == 0x7ffull << 52) return sign | (saturate ? format.largest() : format.has_infinity ? format.infinity() : format.nan());
  int exponent = int(magnitude >> 52) - 1023;
  u64 mantissa = (magnitude & ((1ull << 52) - 1)) | 1ull << 52;
  if (magnitude >> 52 == 0) return sign;  // a double so small is zero in every format, but for directed rounding
  // the place of the last bit that is kept
  int dropped = 52 - format.mantissa_bits;
  int biased = exponent + format.bias();
  if (biased < 1) dropped += 1 - biased, biased = 0;
  const bool carry = rounding == STOCHASTIC && carries(mantissa, dropped, random);
  if (dropped > 54) mantissa = mantissa != 0, dropped = 2;
  const u64 kept = mantissa >> dropped, rest = mantissa & ((1ull << dropped) - 1), half = 1ull << (dropped - 1);
  bool up = false;
  switch (rounding) {
    case NEAREST: up = rest > half || (rest == half && (kept & 1)); break;
    case DOWN: up = sign && rest; break;
    case UP: up = !sign && rest; break;
    case STOCHASTIC: up = carry; break;
    default: break;
  }
  // The leading bit of `kept` adds one to the exponent field, and so does a carry.
  u64 result = kept + up;
  if (biased > 0) result += u64(biased - 1) << format.mantissa_bits;
  const bool too_large = result > format.largest();
  if (!too_large) return sign | u32(result);
  const bool to_infinity = rounding == NEAREST || rounding == STOCHASTIC || (rounding == UP && !sign) || (rounding == DOWN && sign);
  if (saturate || !to_infinity) return sign | format.largest();
  return sign | (format.has_infinity ? format.infinity() : format.nan());
}

// ue8m0, a power of two without a sign, of a double that is a float. There is no zero: what is too small is 2^-127.
static inline u32 narrow_power(double value, u32 rounding, bool saturate) {
  const u64 magnitude = __builtin_bit_cast(u64, value) & ~(1ull << 63);
  if (magnitude > 0x7ffull << 52) return 0xff;
  if (magnitude == 0x7ffull << 52) return saturate ? 0xfe : 0xff;
  const int exponent = int(magnitude >> 52) - 1023;
  if (exponent < -127) return 0;
  const u32 result = u32(exponent + 127 + (rounding == UP && (magnitude & ((1ull << 52) - 1))));
  return saturate && result == 0xff ? 0xfe : result;
}

static inline double widen_power(u32 bits) {
  return bits == 0xff ? __builtin_nan("") : __builtin_bit_cast(double, u64(bits + 1023 - 127) << 52);
}

static inline double widen(u32 bits, Format format) {
  const u32 sign = bits >> (format.bits() - 1) & 1, magnitude = bits & ((1u << (format.bits() - 1)) - 1);
  const u32 field = magnitude >> format.mantissa_bits;
  u64 mantissa = magnitude & ((1u << format.mantissa_bits) - 1);
  double value;
  if (format.has_infinity ? magnitude >= format.infinity() : format.has_nan && magnitude == format.nan()) {
    value = mantissa && (!format.has_infinity || magnitude > format.infinity()) ? __builtin_nan("") : __builtin_inf();
  } else {
    if (field) mantissa |= 1ull << format.mantissa_bits;
    const int exponent = int(field ? field : 1) - format.bias() - format.mantissa_bits;
    value = double(mantissa) * __builtin_bit_cast(double, u64(exponent + 1023) << 52);
  }
  return sign ? -value : value;
}

constexpr Format FORMATS[] = {HALF, BFLOAT, E4M3, E5M2, E2M1, E2M3, E3M2};
constexpr u32 POWER = 7;
constexpr Format format_of(u32 number) { return FORMATS[number]; }

}  // namespace tle::team

extern "C" {
// format: 0 half, 1 bfloat16, 2 e4m3, 3 e5m2, 4 e2m1, 5 e2m3, 6 e3m2, 7 ue8m0
TLE_EXPORTED u32 tle_team_narrow(double value, u32 format, u32 rounding, u32 saturate) {
  if (format == tle::team::POWER) return tle::team::narrow_power(value, rounding, saturate != 0);
  return tle::team::narrow(value, tle::team::format_of(format), rounding, saturate != 0);
}
TLE_EXPORTED u32 tle_team_narrow_randomly(double value, u32 format, u32 random, u32 saturate) {
  return tle::team::narrow(value, tle::team::format_of(format), tle::team::STOCHASTIC, saturate != 0, random);
}
TLE_EXPORTED double tle_team_widen(u32 bits, u32 format) {
  return format == tle::team::POWER ? tle::team::widen_power(bits) : tle::team::widen(bits, tle::team::format_of(format));
}

// tf32: a float without its lowest 13 bits. rounding: 0 nearest, 3 to zero, 4 nearest and away from zero
TLE_EXPORTED float tle_team_tf32(float value, u32 rounding, u32 saturate) {
  u32 bits = __builtin_bit_cast(u32, value);
  const u32 sign = bits & 1u << 31, size = bits & ~(1u << 31);
  if (size > 0xffu << 23) return __builtin_bit_cast(float, ~(1u << 31));
  const u32 added = rounding == 4 ? 0x1000 : rounding == tle::team::NEAREST ? 0xfff + (bits >> 13 & 1) : 0;
  bits = size == 0xffu << 23 ? size : (size + added) & ~0x1fffu;
  if (saturate && bits == 0xffu << 23) bits = (0xffu << 23) - 0x2000;
  return __builtin_bit_cast(float, sign | bits);
}

// a * b + c of half or bfloat16, rounded once: the product is exact in double; where the sum is not, its last bit is
// made odd, so that it lies on no border of the smaller format.
TLE_EXPORTED u32 tle_team_small_fma(double a, double b, double c, u32 format, u32 relu, u32 saturate) {
  const double product = a * b, sum = product + c;
  const double back = sum - product, error = (product - (sum - back)) + (c - back);
  u64 bits = __builtin_bit_cast(u64, sum);
  if (error != 0 && error == error && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : -1;
  double value = __builtin_bit_cast(double, bits);
  if (relu && value < 0) value = 0;
  if (saturate) value = value > 1 ? 1 : value >= 0 ? value : 0;
  return tle::team::narrow(value, tle::team::format_of(format), tle::team::NEAREST, false);
}

// A 64-bit integer as a double whose last bit says whether something was cut off: it can be rounded once more.
TLE_EXPORTED double tle_team_from_long(i64 value, u32 is_signed) {
  const bool negative = is_signed && value < 0;
  u64 magnitude = negative ? -u64(value) : u64(value);
  if (magnitude >> 53) magnitude = (magnitude & ~0xfffull) | u64((magnitude & 0xfff) != 0) << 12;
  const double result = double(magnitude);
  return negative ? -result : result;
}

// bfloat16 from float, the frequent one
TLE_EXPORTED u32 tle_team_bfloat(float value) {
  const u32 bits = __builtin_bit_cast(u32, value);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
TLE_EXPORTED float tle_team_from_bfloat(u32 bits) { return __builtin_bit_cast(float, bits << 16); }
}

#endif  // TLE_RAW_TEAM_SMALL_FLOATS_H
