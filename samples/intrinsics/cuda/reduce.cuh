// Reductions of a tile by the block, and of its rows by a warp each.
#ifndef TLE_PRIMITIVES_REDUCE_CUH
#define TLE_PRIMITIVES_REDUCE_CUH

#include "vectors.cuh"

namespace tle_primitives {

// Joins what LANES neighbours hold; each of them gets it.
template <int LANES, class Operator, class A> __device__ inline A reduce_lanes(A value) {
#pragma unroll
  for (int step = LANES / 2; step; step /= 2) value = Operator()(value, __shfl_xor_sync(WARP, value, step));
  return value;
}

// What one thread of PEERS takes of SIZE elements, joined: 16 bytes at a time, all PEERS side by side.
template <int PEERS, int SIZE, class Operator, class T>
__device__ inline computed_t<T> reduce_share(const T* first, int peer) {
  constexpr int SHARE = SIZE / PEERS, COUNT = vector_of<T>(SHARE);
  computed_t<T> result = Operator::template none<T>();
#pragma unroll
  for (int run = 0; run < SHARE / COUNT; ++run) {
    computed_t<T> values[COUNT];
    load_vector(values, first + (run * PEERS + peer) * COUNT);
#pragma unroll
    for (int step = 1; step < COUNT; step *= 2)
#pragma unroll
      for (int i = 0; i < COUNT; i += 2 * step) values[i] = Operator()(values[i], values[i + step]);
    result = run ? Operator()(result, values[0]) : values[0];
  }
  return result;
}

// What all elements make, in every thread.
template <int THREADS, class Operator, class T, int N> __device__ T reduce_block(tle::tile<const T, N> x) {
  using A = computed_t<T>;
  constexpr int WARPS = THREADS / 32, PEERS = least(THREADS, N), LANES = least(32, PEERS), BUSY = most(1, PEERS / 32);
  A value = reduce_share<PEERS, N, Operator, T>(x, int(threadIdx.x) % PEERS);
  value = reduce_lanes<LANES, Operator>(value);
  if constexpr (BUSY > 1) {
    __shared__ A parts[WARPS];
    if (lane_index() == 0) parts[warp_index()] = value;
    __syncthreads();
    value = parts[0];
#pragma unroll
    for (int warp = 1; warp < BUSY; ++warp) value = Operator()(value, parts[warp]);
  }
  return T(value);
}

template <int THREADS, class Operator, class T, int M, int N>
__device__ void reduce_rows(tle::tile<const T, M, N> x, tle::tile<T, M> out) {
  constexpr int LANES = least(32, N), GROUPS = THREADS / LANES;
#pragma unroll
  for (int done = 0; done < M; done += GROUPS) {
    const int row = done + int(threadIdx.x) / LANES, lane = lane_index() % LANES;
    auto value = reduce_share<LANES, N, Operator, T>(x + (row % M) * N, lane);
    value = reduce_lanes<LANES, Operator>(value);
    if (lane == 0 && row < M) out[row] = T(value);
  }
}

template <int THREADS, class T, int N> __device__ T block_sum(tle::tile<const T, N> x) {
  return reduce_block<THREADS, Sum, T>(x);
}

template <int THREADS, class T, int M, int N>
__device__ void row_sum(tle::tile<const T, M, N> x, tle::tile<T, M> out) {
  reduce_rows<THREADS, Sum, T>(x, out);
}

template <int THREADS, class T, int N> __device__ T block_max(tle::tile<const T, N> x) {
  return reduce_block<THREADS, Max, T>(x);
}

template <int THREADS, class T, int M, int N>
__device__ void row_max(tle::tile<const T, M, N> x, tle::tile<T, M> out) {
  reduce_rows<THREADS, Max, T>(x, out);
}

template <int THREADS, class T, int N> __device__ T block_min(tle::tile<const T, N> x) {
  return reduce_block<THREADS, Min, T>(x);
}

template <int THREADS, class T, int M, int N>
__device__ void row_min(tle::tile<const T, M, N> x, tle::tile<T, M> out) {
  reduce_rows<THREADS, Min, T>(x, out);
}

}  // namespace tle_primitives

#endif
