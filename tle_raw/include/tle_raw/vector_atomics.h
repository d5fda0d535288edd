// Atomic additions of two and four floats, for sm_90 and later. Clang 21's own are assembly that says neither that it
// does something nor that it touches memory: where nobody looks at the result, nothing is added. Where two functions are
// otherwise the same, the one with a condition is called.
#ifndef TLE_RAW_VECTOR_ATOMICS_H
#define TLE_RAW_VECTOR_ATOMICS_H

#if defined(__clang__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

#define TLE_RAW_ATOMICS(NAME, SCOPE)                                                                               \
  static inline __attribute__((device)) __attribute__((always_inline)) float2 NAME(float2* address, float2 value)  \
      __attribute__((enable_if(true, ""))) {                                                                       \
    float2 old;                                                                                                    \
    asm volatile("atom" SCOPE ".add.v2.f32 {%0, %1}, [%2], {%3, %4};"                                              \
                 : "=f"(old.x), "=f"(old.y)                                                                        \
                 : "l"(address), "f"(value.x), "f"(value.y)                                                        \
                 : "memory");                                                                                      \
    return old;                                                                                                    \
  }                                                                                                                \
  static inline __attribute__((device)) __attribute__((always_inline)) float4 NAME(float4* address, float4 value)  \
      __attribute__((enable_if(true, ""))) {                                                                       \
    float4 old;                                                                                                    \
    asm volatile("atom" SCOPE ".add.v4.f32 {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8};"                              \
                 : "=f"(old.x), "=f"(old.y), "=f"(old.z), "=f"(old.w)                                              \
                 : "l"(address), "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w)                            \
                 : "memory");                                                                                      \
    return old;                                                                                                    \
  }

TLE_RAW_ATOMICS(atomicAdd, "")
TLE_RAW_ATOMICS(atomicAdd_block, ".cta")
TLE_RAW_ATOMICS(atomicAdd_system, ".sys")
#undef TLE_RAW_ATOMICS

#endif
#endif  // TLE_RAW_VECTOR_ATOMICS_H
