// Device functions of nvcc's headers that clang's lack and few programs call. `tools/compare_cuda_headers.py` lists what
// is declared there and cannot be called here. Clang only.
#ifndef TLE_RAW_NVCC_RARE_FUNCTIONS_H
#define TLE_RAW_NVCC_RARE_FUNCTIONS_H

#if defined(__clang__) && defined(__CUDA__) && defined(__CUDA_ARCH__)

#define TLE_RAW_DEVICE static inline __attribute__((device)) __attribute__((always_inline))

TLE_RAW_DEVICE float __tanhf(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Host code has min and max without std, too.
#define TLE_RAW_HOST(T)                                                                                      \
  static inline __attribute__((host)) T min(T a, T b) { return b < a ? b : a; }                              \
  static inline __attribute__((host)) T max(T a, T b) { return a < b ? b : a; }
TLE_RAW_HOST(int)
TLE_RAW_HOST(unsigned)
TLE_RAW_HOST(long)
TLE_RAW_HOST(unsigned long)
TLE_RAW_HOST(long long)
TLE_RAW_HOST(unsigned long long)
TLE_RAW_HOST(float)
TLE_RAW_HOST(double)
#undef TLE_RAW_HOST

// What C libraries call them by: the names' last letters are types.
TLE_RAW_DEVICE int __isfinitef(float x) { return __builtin_isfinite(x); }
TLE_RAW_DEVICE int __isinfd(double x) { return __builtin_isinf(x); }
TLE_RAW_DEVICE int __isnand(double x) { return __builtin_isnan(x); }
TLE_RAW_DEVICE int __signbit(double x) { return __builtin_signbit(x); }

// Declared by clang's headers, and defined nowhere.
TLE_RAW_DEVICE double nan(const char*) { return __builtin_nan(""); }
TLE_RAW_DEVICE float nanf(const char*) { return __builtin_nanf(""); }

// The event's number is a constant in the instruction.
#define __prof_trigger(NUMBER) asm volatile("pmevent %0;" : : "n"(NUMBER))

// A long has the size of a long long here; nvcc has every cache operator for both.
#define TLE_RAW_LOAD(NAME)                                                      \
  TLE_RAW_DEVICE unsigned long NAME(const unsigned long* address) {             \
    return (unsigned long)NAME((const unsigned long long*)address);             \
  }
TLE_RAW_LOAD(__ldcg)
TLE_RAW_LOAD(__ldcs)
TLE_RAW_LOAD(__ldcv)
#undef TLE_RAW_LOAD
TLE_RAW_DEVICE void __stwt(long* address, long value) { __stwt((long long*)address, (long long)value); }
TLE_RAW_DEVICE void __stwt(unsigned long* address, unsigned long value) {
  __stwt((unsigned long long*)address, (unsigned long long)value);
}

#if __CUDA_ARCH__ >= 900
// Exchanges of 16 bytes, for any type of that size and alignment.
namespace tle_raw_wide {
template <bool>
struct if_wide {};
template <>
struct if_wide<true> {
  using type = int;
};
struct words {
  unsigned long long low, high;
};
}  // namespace tle_raw_wide

#define TLE_RAW_WIDE(SUFFIX, SCOPE)                                                                                  \
  template <class T, typename tle_raw_wide::if_wide<sizeof(T) == 16 && alignof(T) == 16>::type = 0>                  \
  TLE_RAW_DEVICE T atomicExch##SUFFIX(T* address, T value) {                                                         \
    const auto given = __builtin_bit_cast(tle_raw_wide::words, value);                                               \
    tle_raw_wide::words old;                                                                                         \
    asm volatile("{ .reg .b128 given, old; mov.b128 given, {%2, %3}; atom.relaxed." SCOPE                            \
                 ".exch.b128 old, [%4], given; mov.b128 {%0, %1}, old; }"                                            \
                 : "=l"(old.low), "=l"(old.high)                                                                     \
                 : "l"(given.low), "l"(given.high), "l"(address)                                                     \
                 : "memory");                                                                                        \
    return __builtin_bit_cast(T, old);                                                                               \
  }                                                                                                                  \
  template <class T, typename tle_raw_wide::if_wide<sizeof(T) == 16 && alignof(T) == 16>::type = 0>                  \
  TLE_RAW_DEVICE T atomicCAS##SUFFIX(T* address, T expected, T value) {                                              \
    const auto wanted = __builtin_bit_cast(tle_raw_wide::words, expected);                                           \
    const auto given = __builtin_bit_cast(tle_raw_wide::words, value);                                               \
    tle_raw_wide::words old;                                                                                         \
    asm volatile("{ .reg .b128 wanted, given, old; mov.b128 wanted, {%2, %3}; mov.b128 given, {%4, %5}; "            \
                 "atom.relaxed." SCOPE ".cas.b128 old, [%6], wanted, given; mov.b128 {%0, %1}, old; }"               \
                 : "=l"(old.low), "=l"(old.high)                                                                     \
                 : "l"(wanted.low), "l"(wanted.high), "l"(given.low), "l"(given.high), "l"(address)                  \
                 : "memory");                                                                                        \
    return __builtin_bit_cast(T, old);                                                                               \
  }
TLE_RAW_WIDE(, "gpu")
TLE_RAW_WIDE(_block, "cta")
TLE_RAW_WIDE(_system, "sys")
#undef TLE_RAW_WIDE
#endif

#undef TLE_RAW_DEVICE

#endif
#endif  // TLE_RAW_NVCC_RARE_FUNCTIONS_H
