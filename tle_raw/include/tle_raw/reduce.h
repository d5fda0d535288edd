// Reductions by the threads of a block, which other libraries' kernels become in a region. Clang only.
#ifndef TLE_RAW_REDUCE_H
#define TLE_RAW_REDUCE_H

#define TLE_RAW_INLINE static inline __attribute__((device)) __attribute__((always_inline))

namespace tle {
namespace blockwide {

template <class A, class B> struct is_same { static constexpr bool value = false; };
template <class A> struct is_same<A, A> { static constexpr bool value = true; };

// Types that a shuffle takes as they are.
template <class T>
inline constexpr bool shuffles = is_same<T, int>::value || is_same<T, unsigned>::value || is_same<T, float>::value ||
                                 is_same<T, double>::value || is_same<T, long>::value || is_same<T, unsigned long>::value ||
                                 is_same<T, long long>::value || is_same<T, unsigned long long>::value;

TLE_RAW_INLINE unsigned thread() { return __nvvm_read_ptx_sreg_tid_x(); }
TLE_RAW_INLINE unsigned threads() { return __nvvm_read_ptx_sreg_ntid_x(); }

// The block among all blocks of the launch.
TLE_RAW_INLINE unsigned long block() {
  return blockIdx.x + (unsigned long)gridDim.x * (blockIdx.y + (unsigned long)gridDim.y * blockIdx.z);
}
TLE_RAW_INLINE unsigned long blocks() { return (unsigned long)gridDim.x * gridDim.y * gridDim.z; }

template <class T, class Reduce> TLE_RAW_INLINE T reduce_warp(T value, Reduce reduce) {
  for (int lane = 16; lane > 0; lane /= 2) value = reduce(value, __shfl_xor_sync(0xffffffffu, value, lane));
  return value;
}

// The reduction of map(0) … map(count - 1), in every thread of the block.
template <class T, class Map, class Reduce> TLE_RAW_INLINE T reduce_block(long count, T neutral, Map map, Reduce reduce) {
  T value = neutral;
  for (long i = thread(); i < count; i += threads()) value = reduce(value, map(i));
  if constexpr (shuffles<T>) {
    __shared__ T partial[32];
    value = reduce_warp(value, reduce);
    if (thread() % 32 == 0) partial[thread() / 32] = value;
    __syncthreads();
    value = thread() % 32 < threads() / 32 ? partial[thread() % 32] : neutral;
    return reduce_warp(value, reduce);
  } else {
    // Raw: a type with a constructor cannot be declared in shared memory.
    alignas(T) __shared__ char memory[1024 * sizeof(T)];
    T* partial = (T*)memory;
    partial[thread()] = value;
    __syncthreads();
    for (unsigned half = threads() / 2; half > 0; half /= 2) {
      if (thread() < half) partial[thread()] = reduce(partial[thread()], partial[thread() + half]);
      __syncthreads();
    }
    return partial[0];
  }
}

// Row `row` of `count` numbers that stand `step` apart: one reduction for each of `rows` rows.
template <class T, class Map, class Reduce>
TLE_RAW_INLINE void reduce_rows(T* out, long rows, long count, long between, long step, T neutral, Map map, Reduce reduce) {
  if (shuffles<T> && step == 1) {
    for (long row = thread() / 32; row < rows; row += threads() / 32) {
      T value = neutral;
      for (long i = thread() % 32; i < count; i += 32) value = reduce(value, map(row * between + i));
      if constexpr (shuffles<T>) value = reduce_warp(value, reduce);
      if (thread() % 32 == 0) out[row] = value;
    }
  } else {
    for (long row = thread(); row < rows; row += threads()) {
      T value = neutral;
      for (long i = 0; i < count; ++i) value = reduce(value, map(row * between + i * step));
      out[row] = value;
    }
  }
}

}  // namespace blockwide
}  // namespace tle

#undef TLE_RAW_INLINE
#endif  // TLE_RAW_REDUCE_H
