// What CuPy's elementwise kernels and reductions become in a region. Needs CuPy's own headers; clang only.
#ifndef TLE_RAW_CUPY_H
#define TLE_RAW_CUPY_H

#include <assert.h>
#include <tle_raw/reduce.h>
#ifdef TLE_RAW_HAS_HALF
#include <cuda_fp16.h>
#endif

// CuPy's headers tell by this macro of nvcc's that they are not read by an older compiler.
#pragma push_macro("__CUDACC_VER_MAJOR__")
#undef __CUDACC_VER_MAJOR__
#define __CUDACC_VER_MAJOR__ 12
#include <cupy/carray.cuh>
#if defined(TLE_RAW_HAS_HALF) && __has_include(<cupy/float16.cuh>)
#include <cupy/float16.cuh>
#endif
#if defined(TLE_RAW_HAS_BFLOAT) && __has_include(<cupy/bfloat16.cuh>)
#include <cupy/bfloat16.cuh>
#endif
#include <cupy/atomics.cuh>
#include <cupy/math_constants.h>
#pragma pop_macro("__CUDACC_VER_MAJOR__")

#define TLE_RAW_INLINE static inline __attribute__((device)) __attribute__((always_inline))
#define TLE_RAW_MEMBER inline __attribute__((device)) __attribute__((always_inline))

namespace tle {
namespace cupy {

// The type that an operation sees: CuPy's 16-bit floats are classes of its own, which compute in float.
template <class T> struct type_of { using type = T; };
#ifdef TLE_RAW_HAS_HALF
template <> struct type_of<__half> { using type = float16; };
#endif
#if defined(TLE_RAW_HAS_BFLOAT) && __has_include(<cupy/bfloat16.cuh>)
template <> struct type_of<__nv_bfloat16> { using type = bfloat16; };
#endif

// The same bits under another type.
template <class To, class From> TLE_RAW_INLINE To as(const From& value) {
  static_assert(sizeof(To) == sizeof(From), "types of one size");
  To result;
  __builtin_memcpy(&result, &value, sizeof(To));
  return result;
}

// CuPy's indexers, of which an operation may ask the size.
struct extent {
  ptrdiff_t count;
  TLE_RAW_MEMBER ptrdiff_t size() const { return count; }
};

// Row by row: map(row, i) of all i, joined, goes to finish(row, value).
template <class T, class Map, class Reduce, class Finish>
TLE_RAW_INLINE void reduce_rows(long rows, long count, bool are_adjacent, T neutral, Map map, Reduce reduce, Finish finish) {
  if constexpr (blockwide::shuffles<T>) {
    if (are_adjacent) {
      for (long row = blockwide::thread() / 32; row < rows; row += blockwide::threads() / 32) {
        T value = neutral;
        for (long i = blockwide::thread() % 32; i < count; i += 32) value = reduce(value, map(row, i));
        value = blockwide::reduce_warp(value, reduce);
        if (blockwide::thread() % 32 == 0) finish(row, value);
      }
      return;
    }
  }
  for (long row = blockwide::thread(); row < rows; row += blockwide::threads()) {
    T value = neutral;
    for (long i = 0; i < count; ++i) value = reduce(value, map(row, i));
    finish(row, value);
  }
}

}  // namespace cupy
}  // namespace tle

#undef TLE_RAW_MEMBER
#undef TLE_RAW_INLINE
#endif  // TLE_RAW_CUPY_H
