// What PyCUDA's kernels become in a region: one element in registers, reductions and scans of tiles. Clang only.
#ifndef TLE_RAW_PYCUDA_H
#define TLE_RAW_PYCUDA_H

#include <tle_raw/reduce.h>

#define TLE_RAW_INLINE static inline __attribute__((device)) __attribute__((always_inline))
#define TLE_RAW_MEMBER inline __attribute__((device)) __attribute__((always_inline))

namespace tle {
namespace pycuda {

using namespace blockwide;

// The index of an elementwise operation: a number, and the only thing that chooses an element.
struct index {
  long value;
  TLE_RAW_MEMBER operator long() const { return value; }
};

// A vector of which the operation has one element.
template <class T> struct vector {
  T& value;
  TLE_RAW_MEMBER T& operator[](index) const { return value; }
  template <class Other> T& operator[](Other) const = delete;
};

// Each element becomes the scan of those up to it, or, exclusive, of those before it. The order is kept.
template <class T, class Scan> TLE_RAW_INLINE void scan_block(T* data, long count, T neutral, bool exclusive, Scan scan) {
  __shared__ T totals[2][1024];
  const long share = (count + threads() - 1) / threads(), first = thread() * share;
  const long last = first + share < count ? first + share : count;
  const bool some = first < last;
  T total = neutral;
  if (some) {
    total = data[first];
    for (long i = first + 1; i < last; ++i) total = scan(total, data[i]);
  }
  // Threads without a share stand behind all that have one: nobody takes their totals.
  totals[0][thread()] = total;
  __syncthreads();
  int now = 0;
  for (unsigned step = 1; step < threads(); step *= 2, now ^= 1) {
    const T own = totals[now][thread()];
    totals[now ^ 1][thread()] = thread() >= step && some ? scan(totals[now][thread() - step], own) : own;
    __syncthreads();
  }
  if (!some) return;
  bool has_before = thread() > 0;
  T before = has_before ? totals[now][thread() - 1] : neutral;
  for (long i = first; i < last; ++i) {
    const T own = data[i];
    const T through = has_before ? scan(before, own) : own;
    data[i] = exclusive ? (has_before ? before : neutral) : through;
    before = through;
    has_before = true;
  }
}

}  // namespace pycuda
}  // namespace tle

#undef TLE_RAW_MEMBER
#undef TLE_RAW_INLINE
#endif  // TLE_RAW_PYCUDA_H
