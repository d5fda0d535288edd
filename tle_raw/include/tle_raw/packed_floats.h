// Arithmetic on two floats at once, which nvcc knows and clang 21 does not. For sm_100 and later. Clang only.
#ifndef TLE_RAW_PACKED_FLOATS_H
#define TLE_RAW_PACKED_FLOATS_H

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000

#define TLE_RAW_INLINE static inline __attribute__((device)) __attribute__((always_inline))
#define TLE_RAW_BITS(x) __builtin_bit_cast(unsigned long long, x)
#define TLE_RAW_RESULT __builtin_bit_cast(float2, result)

TLE_RAW_INLINE float2 __fadd2_rn(float2 a, float2 b) {
  unsigned long long result;
  asm("add.rn.f32x2 %0, %1, %2;" : "=l"(result) : "l"(TLE_RAW_BITS(a)), "l"(TLE_RAW_BITS(b)));
  return TLE_RAW_RESULT;
}

TLE_RAW_INLINE float2 __fmul2_rn(float2 a, float2 b) {
  unsigned long long result;
  asm("mul.rn.f32x2 %0, %1, %2;" : "=l"(result) : "l"(TLE_RAW_BITS(a)), "l"(TLE_RAW_BITS(b)));
  return TLE_RAW_RESULT;
}

TLE_RAW_INLINE float2 __ffma2_rn(float2 a, float2 b, float2 c) {
  unsigned long long result;
  asm("fma.rn.f32x2 %0, %1, %2, %3;"
      : "=l"(result)
      : "l"(TLE_RAW_BITS(a)), "l"(TLE_RAW_BITS(b)), "l"(TLE_RAW_BITS(c)));
  return TLE_RAW_RESULT;
}

#undef TLE_RAW_INLINE
#undef TLE_RAW_BITS
#undef TLE_RAW_RESULT

#endif
#endif  // TLE_RAW_PACKED_FLOATS_H
