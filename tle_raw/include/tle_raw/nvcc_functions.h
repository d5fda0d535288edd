// Device functions that nvcc's headers have and clang's lack: loads and stores with a cache operator, and for sm_100 and
// later arithmetic on pairs of floats; and shared arrays where vectors may lie. Clang only.
#ifndef TLE_RAW_NVCC_FUNCTIONS_H
#define TLE_RAW_NVCC_FUNCTIONS_H

#if defined(__clang__) && defined(__CUDA__) && defined(__CUDA_ARCH__)

#define TLE_RAW_DEVICE static inline __attribute__((device)) __attribute__((always_inline))

// One load or store of a value's own size. They are volatile: what was written in between is read.
#define TLE_RAW_LOAD(NAME, OPERATOR)                                                                                  \
  template <class T> __attribute__((device)) __attribute__((always_inline)) T tle_raw##NAME(const T* address) {       \
    if constexpr (sizeof(T) == 1) {                                                                                   \
      unsigned value;                                                                                                 \
      asm volatile("ld.global." OPERATOR ".u8 %0, [%1];" : "=r"(value) : "l"(address) : "memory");                    \
      return __builtin_bit_cast(T, (unsigned char)value);                                                             \
    } else if constexpr (sizeof(T) == 2) {                                                                            \
      unsigned short value;                                                                                           \
      asm volatile("ld.global." OPERATOR ".u16 %0, [%1];" : "=h"(value) : "l"(address) : "memory");                   \
      return __builtin_bit_cast(T, value);                                                                            \
    } else if constexpr (sizeof(T) == 4) {                                                                            \
      unsigned value;                                                                                                 \
      asm volatile("ld.global." OPERATOR ".u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");                   \
      return __builtin_bit_cast(T, value);                                                                            \
    } else if constexpr (sizeof(T) == 8) {                                                                            \
      unsigned long long value;                                                                                       \
      asm volatile("ld.global." OPERATOR ".u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");                   \
      return __builtin_bit_cast(T, value);                                                                            \
    } else {                                                                                                          \
      uint4 v;                                                                                                        \
      asm volatile("ld.global." OPERATOR ".v4.u32 {%0, %1, %2, %3}, [%4];"                                            \
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)                                                       \
                   : "l"(address)                                                                                     \
                   : "memory");                                                                                       \
      return __builtin_bit_cast(T, v);                                                                                \
    }                                                                                                                 \
  }

#define TLE_RAW_STORE(NAME, OPERATOR)                                                                                 \
  template <class T> __attribute__((device)) __attribute__((always_inline)) void tle_raw##NAME(T* address, T value) { \
    if constexpr (sizeof(T) == 1) {                                                                                   \
      const unsigned v = __builtin_bit_cast(unsigned char, value);                                                    \
      asm volatile("st.global." OPERATOR ".u8 [%0], %1;" : : "l"(address), "r"(v) : "memory");                        \
    } else if constexpr (sizeof(T) == 2) {                                                                            \
      const unsigned short v = __builtin_bit_cast(unsigned short, value);                                             \
      asm volatile("st.global." OPERATOR ".u16 [%0], %1;" : : "l"(address), "h"(v) : "memory");                       \
    } else if constexpr (sizeof(T) == 4) {                                                                            \
      const unsigned v = __builtin_bit_cast(unsigned, value);                                                         \
      asm volatile("st.global." OPERATOR ".u32 [%0], %1;" : : "l"(address), "r"(v) : "memory");                       \
    } else if constexpr (sizeof(T) == 8) {                                                                            \
      const unsigned long long v = __builtin_bit_cast(unsigned long long, value);                                     \
      asm volatile("st.global." OPERATOR ".u64 [%0], %1;" : : "l"(address), "l"(v) : "memory");                       \
    } else {                                                                                                          \
      const uint4 v = __builtin_bit_cast(uint4, value);                                                               \
      asm volatile("st.global." OPERATOR ".v4.u32 [%0], {%1, %2, %3, %4};"                                            \
                   :                                                                                                  \
                   : "l"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)                                             \
                   : "memory");                                                                                       \
    }                                                                                                                 \
  }

TLE_RAW_LOAD(__ldca, "ca")
TLE_RAW_LOAD(__ldlu, "lu")
TLE_RAW_STORE(__stwb, "wb")
TLE_RAW_STORE(__stcg, "cg")
TLE_RAW_STORE(__stcs, "cs")

// Of the types that CUDA has them for: others convert to none.
#define TLE_RAW_OF(T)                                                                      \
  TLE_RAW_DEVICE T __ldca(const T* address) { return tle_raw__ldca(address); }             \
  TLE_RAW_DEVICE T __ldlu(const T* address) { return tle_raw__ldlu(address); }             \
  TLE_RAW_DEVICE void __stwb(T* address, T value) { tle_raw__stwb(address, value); }       \
  TLE_RAW_DEVICE void __stcg(T* address, T value) { tle_raw__stcg(address, value); }       \
  TLE_RAW_DEVICE void __stcs(T* address, T value) { tle_raw__stcs(address, value); }
#define TLE_RAW_OF_INTEGER(T, WORD) TLE_RAW_OF(T) TLE_RAW_OF(WORD##2) TLE_RAW_OF(WORD##4)

TLE_RAW_OF(char)
TLE_RAW_OF_INTEGER(signed char, char)
TLE_RAW_OF_INTEGER(unsigned char, uchar)
TLE_RAW_OF_INTEGER(short, short)
TLE_RAW_OF_INTEGER(unsigned short, ushort)
TLE_RAW_OF_INTEGER(int, int)
TLE_RAW_OF_INTEGER(unsigned, uint)
TLE_RAW_OF_INTEGER(float, float)
TLE_RAW_OF(long)
TLE_RAW_OF(unsigned long)
TLE_RAW_OF(long long)
TLE_RAW_OF(unsigned long long)
TLE_RAW_OF(longlong2)
TLE_RAW_OF(ulonglong2)
TLE_RAW_OF(double)
TLE_RAW_OF(double2)

#if __CUDA_ARCH__ >= 1000
#define TLE_RAW_PAIRS(ROUNDING, PTX)                                                                        \
  TLE_RAW_DEVICE float2 __ffma2_##ROUNDING(float2 a, float2 b, float2 c) {                                  \
    unsigned long long r;                                                                                   \
    asm("fma." #PTX ".f32x2 %0, %1, %2, %3;"                                                           \
        : "=l"(r)                                                                                           \
        : "l"(__builtin_bit_cast(unsigned long long, a)), "l"(__builtin_bit_cast(unsigned long long, b)),   \
          "l"(__builtin_bit_cast(unsigned long long, c)));                                                  \
    return __builtin_bit_cast(float2, r);                                                                   \
  }                                                                                                         \
  TLE_RAW_PAIR(add, ROUNDING, PTX)                                                                               \
  TLE_RAW_PAIR(mul, ROUNDING, PTX)
#define TLE_RAW_PAIR(OPERATION, ROUNDING, PTX)                                                              \
  TLE_RAW_DEVICE float2 __f##OPERATION##2_##ROUNDING(float2 a, float2 b) {                                  \
    unsigned long long r;                                                                                   \
    asm(#OPERATION "." #PTX ".f32x2 %0, %1, %2;"                                                       \
        : "=l"(r)                                                                                           \
        : "l"(__builtin_bit_cast(unsigned long long, a)), "l"(__builtin_bit_cast(unsigned long long, b)));  \
    return __builtin_bit_cast(float2, r);                                                                   \
  }
TLE_RAW_PAIRS(rn, rn)
TLE_RAW_PAIRS(rz, rz)
TLE_RAW_PAIRS(ru, rp)
TLE_RAW_PAIRS(rd, rm)
#undef TLE_RAW_PAIR
#undef TLE_RAW_PAIRS
#endif

#undef TLE_RAW_OF_INTEGER
#undef TLE_RAW_OF
#undef TLE_RAW_STORE
#undef TLE_RAW_LOAD
#undef TLE_RAW_DEVICE

// Programs read shared arrays of short elements as vectors, by a cast. nvcc goes by the vector's alignment, clang by the
// array's, and would take eight accesses for one.
#undef __shared__
#define __shared__ __attribute__((shared, aligned(16)))

#endif
#endif  // TLE_RAW_NVCC_FUNCTIONS_H
