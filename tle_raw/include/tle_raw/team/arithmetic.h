// Arithmetic with a rounding of its own: __fadd_rz, div.rm.f64, __ll2float_rd.
#ifndef TLE_RAW_TEAM_ARITHMETIC_H
#define TLE_RAW_TEAM_ARITHMETIC_H

#include <tle_raw/team/abi.h>

namespace tle::team {

enum Rounding : u32 { NEAREST, DOWN, UP, ZERO };

// Sets the processor's rounding while it lives. Values pass through `fix`, which the compiler cannot look through, so
// that an operation stays between the two ends.
struct RoundingScope {
#if defined(__x86_64__)
  u32 before;
  explicit RoundingScope(u32 rounding) {
    asm volatile("stmxcsr %0" : "=m"(before));
    const u32 now = (before & ~0x6000u) | rounding << 13;
    asm volatile("ldmxcsr %0" : : "m"(now) : "memory");
  }
  ~RoundingScope() { asm volatile("ldmxcsr %0" : : "m"(before) : "memory"); }
  template <class T> static T fix(T value) {
    asm volatile("" : "+x"(value) : : "memory");
    return value;
  }
#else
  u64 before;
  explicit RoundingScope(u32 rounding) {
    asm volatile("mrs %0, fpcr" : "=r"(before));
    const u64 mode = rounding == UP ? 1 : rounding == DOWN ? 2 : rounding;
    asm volatile("msr fpcr, %0" : : "r"((before & ~0xc00000ull) | mode << 22) : "memory");
  }
  ~RoundingScope() { asm volatile("msr fpcr, %0" : : "r"(before) : "memory"); }
  template <class T> static T fix(T value) {
    asm volatile("" : "+w"(value) : : "memory");
    return value;
  }
#endif
};

// An integer with so many bits that are too many for T, rounded: the first 62 significant bits decide, and the rest
// is folded into the last of them.
template <class T> static T from_integer(u64 magnitude, bool negative, u32 rounding) {
  const i64 value = i64(magnitude >> 2 | u64((magnitude & 3) != 0));
  const bool large = magnitude >> 62 != 0;
  RoundingScope scope(rounding);
  const i64 chosen = large ? value : i64(magnitude);
  T result;
#if defined(__x86_64__)
  const i64 with_sign = negative ? -chosen : chosen;
  if constexpr (sizeof(T) == 4) asm volatile("cvtsi2ssq %1, %0" : "=x"(result) : "r"(with_sign));
  else asm volatile("cvtsi2sdq %1, %0" : "=x"(result) : "r"(with_sign));
#else
  const i64 with_sign = negative ? -chosen : chosen;
  if constexpr (sizeof(T) == 4) asm volatile("scvtf %s0, %1" : "=w"(result) : "r"(with_sign));
  else asm volatile("scvtf %d0, %1" : "=w"(result) : "r"(with_sign));
#endif
  return large ? result * 4 : result;
}

}  // namespace tle::team

#define TLE_ROUNDED(T, name, sqrt_function, fma_function)                                  \
  TLE_EXPORTED T tle_team_add_##name(T a, T b, u32 rounding) {                             \
    tle::team::RoundingScope scope(rounding);                                              \
    return scope.fix(scope.fix(a) + scope.fix(b));                                         \
  }                                                                                        \
  TLE_EXPORTED T tle_team_mul_##name(T a, T b, u32 rounding) {                             \
    tle::team::RoundingScope scope(rounding);                                              \
    return scope.fix(scope.fix(a) * scope.fix(b));                                         \
  }                                                                                        \
  TLE_EXPORTED T tle_team_div_##name(T a, T b, u32 rounding) {                             \
    tle::team::RoundingScope scope(rounding);                                              \
    return scope.fix(scope.fix(a) / scope.fix(b));                                         \
  }                                                                                        \
  TLE_EXPORTED T tle_team_sqrt_##name(T a, u32 rounding) {                                 \
    tle::team::RoundingScope scope(rounding);                                              \
    return scope.fix(sqrt_function(scope.fix(a)));                                         \
  }                                                                                        \
  TLE_EXPORTED T tle_team_fma_##name(T a, T b, T c, u32 rounding) {                        \
    tle::team::RoundingScope scope(rounding);                                              \
    return scope.fix(fma_function(scope.fix(a), scope.fix(b), scope.fix(c)));              \
  }                                                                                        \
  TLE_EXPORTED T tle_team_from_signed_##name(i64 value, u32 rounding) {                    \
    return tle::team::from_integer<T>(value < 0 ? -u64(value) : u64(value), value < 0, rounding); \
  }                                                                                        \
  TLE_EXPORTED T tle_team_from_unsigned_##name(u64 value, u32 rounding) {                  \
    return tle::team::from_integer<T>(value, false, rounding);                             \
  }

extern "C" {
TLE_ROUNDED(float, f32, __builtin_sqrtf, __builtin_fmaf)
TLE_ROUNDED(double, f64, __builtin_sqrt, __builtin_fma)

TLE_EXPORTED float tle_team_narrow_f32(double value, u32 rounding) {
  tle::team::RoundingScope scope(rounding);
  return scope.fix(float(scope.fix(value)));
}

// PTX's prmt in its default mode: each nibble of the selector names one of the eight bytes of b:a.
TLE_EXPORTED u32 tle_team_permute(u32 a, u32 b, u32 selector) {
  const u64 bytes = u64(b) << 32 | a;
  u32 result = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 nibble = selector >> (4 * i) & 0xf;
    u32 byte = u32(bytes >> (8 * (nibble & 7))) & 0xff;
    if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

// The position of the n-th set bit from `base` on, upwards for n > 0; ~0 when there is none.
TLE_EXPORTED u32 tle_team_find_nth_set(u32 mask, u32 base, i32 n) {
  if (n == 0) return mask >> (base & 31) & 1 ? base : ~0u;
  const i32 step = n > 0 ? 1 : -1;
  u32 left = u32(n > 0 ? n : -n);
  for (i32 at = i32(base); at >= 0 && at < 32; at += step)
    if (mask >> at & 1 && --left == 0) return u32(at);
  return ~0u;
}

// PTX's vadd2, vmin4 and their kin: two halves or four bytes at once. `add`: their sum, added to c.
TLE_EXPORTED u32 tle_team_parallel(u32 a, u32 b, u32 c, u32 operation, u32 lanes, u32 signs, u32 saturate, u32 add,
                                   u32 comparison) {
  const int bits = 32 / int(lanes);
  const i64 low = signs & 4 ? -(1ll << (bits - 1)) : 0, high = signs & 4 ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1;
  const u32 mask = u32((1ull << bits) - 1);
  u32 result = 0;
  i64 sum = i32(c);
  for (int lane = 0; lane < int(lanes); ++lane) {
    const int shift = bits * lane;
    const auto part = [&](u32 word, u32 is_signed) {
      const u32 value = word >> shift & mask;
      return is_signed && value >> (bits - 1) ? i64(value) - (1ll << bits) : i64(value);
    };
    const i64 x = part(a, signs & 1), y = part(b, signs & 2);
    const bool compared[] = {x == y, x != y, x < y, x <= y, x > y, x >= y};
    const i64 all[] = {x + y, x - y, (x + y + (x + y >= 0)) >> 1, x < y ? y - x : x - y, x < y ? x : y, x < y ? y : x,
                       compared[comparison]};
    i64 value = all[operation];
    if (saturate) value = value < low ? low : value > high ? high : value;
    sum += value;
    result |= (u32(value) & mask) << shift;
  }
  return add ? u32(sum) : result;
}

// dp4a and dp2a: products of bytes, added up
TLE_EXPORTED u32 tle_team_dot(u32 a, u32 b, u32 c, u32 signs, u32 second_width, u32 first_of_b) {
  const int bits = second_width == 1 ? 8 : 16, count = 32 / bits;
  i64 sum = 0;
  for (int i = 0; i < count; ++i) {
    const u32 x = a >> (bits * i) & ((1ull << bits) - 1), y = b >> (8 * (i + int(first_of_b))) & 0xff;
    const i64 wide_x = signs & 1 ? (bits == 8 ? i64(i32(x << 24) >> 24) : i64(i32(x << 16) >> 16)) : i64(x);
    sum += wide_x * (signs & 2 ? i64(i32(y << 24) >> 24) : i64(y));
  }
  return c + u32(sum);
}
}

#endif  // TLE_RAW_TEAM_ARITHMETIC_H
