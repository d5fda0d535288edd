// Scans of a tile by the block, and of its rows by a warp each.
//
// A warp takes neighbouring runs, a lane up to 16 bytes of each: no access has bank conflicts. Each run is scanned in
// the lanes, then across them by shuffles. Narrow integers and 16-bit floats are added in 32 bits and rounded once.
#ifndef TLE_PRIMITIVES_SCAN_CUH
#define TLE_PRIMITIVES_SCAN_CUH

#include "vectors.cuh"

namespace tle_primitives {

// What the lanes up to this one hold, joined, and what those below hold. LANES neighbours scan together.
template <int LANES, class Operator, class A>
__device__ inline void scan_lanes(A& value, A none, A& before) {
  const int lane = lane_index() % LANES;
#pragma unroll
  for (int step = 1; step < LANES; step *= 2) {
    const A below = __shfl_up_sync(WARP, value, step, LANES);
    if (lane >= step) value = Operator()(below, value);
  }
  before = __shfl_up_sync(WARP, value, 1, LANES);
  if (lane == 0) before = none;
}

// The runs of one group of LANES lanes, from `first` on: scanned in registers, and what they make together.
template <class T, class Operator, int LANES, int RUNS, int COUNT> struct Runs {
  using A = computed_t<T>;
  A values[RUNS][COUNT], before[RUNS];

  // Afterwards values are inclusive within their lane's run, and `before` is what comes before that run.
  // What all make is given to the group's last lane, or to all of them.
  template <bool EVERYWHERE> __device__ A scan(const T* first) {
    A all;
#pragma unroll
    for (int run = 0; run < RUNS; ++run) {
      load_vector(values[run], first + (run * LANES + lane_index() % LANES) * COUNT);
#pragma unroll
      for (int i = 1; i < COUNT; ++i) values[run][i] = Operator()(values[run][i - 1], values[run][i]);
      A of_run = values[run][COUNT - 1];
      scan_lanes<LANES, Operator>(of_run, Operator::template none<T>(), before[run]);
      if (EVERYWHERE || run + 1 < RUNS) of_run = __shfl_sync(WARP, of_run, LANES - 1, LANES);
      before[run] = run ? Operator()(all, before[run]) : before[run];
      all = run ? Operator()(all, of_run) : of_run;
    }
    return all;
  }

  template <bool INCLUSIVE> __device__ void store(T* first, A start) {
#pragma unroll
    for (int run = 0; run < RUNS; ++run) {
      const A base = Operator()(start, before[run]);
      A out[COUNT];
#pragma unroll
      for (int i = 0; i < COUNT; ++i) {
        if constexpr (INCLUSIVE)
          out[i] = Operator()(base, values[run][i]);
        else
          out[i] = i ? Operator()(base, values[run][i - 1]) : base;
      }
      store_vector(first + (run * LANES + lane_index() % LANES) * COUNT, out);
    }
  }
};

// Scans the tile in place and returns what all of its elements make, in every thread.
template <int THREADS, bool INCLUSIVE, class Operator, class T, int N>
__device__ T scan_block(tle::tile<T, N> x) {
  using A = computed_t<T>;
  constexpr int WARPS = THREADS / 32, SHARE = most(1, N / THREADS), COUNT = vector_of<T>(SHARE), RUNS = SHARE / COUNT;
  constexpr int ACTIVE = least(THREADS, N / SHARE), LANES = least(32, ACTIVE), BUSY = most(1, ACTIVE / 32);
  __shared__ A parts[WARPS];
  Runs<T, Operator, LANES, RUNS, COUNT> runs;
  const bool active = ACTIVE == THREADS || int(threadIdx.x) < ACTIVE;
  T* first = x + (warp_index() % BUSY) * (N / BUSY);
  const A all = runs.template scan<BUSY == 1>(first);
  if constexpr (BUSY == 1) {
    if constexpr (WARPS > 1) __syncthreads();  // a warp that stores nothing may read late
    if (active) runs.template store<INCLUSIVE>(first, Operator::template none<T>());
    return T(all);
  }
  if (lane_index() == LANES - 1) parts[warp_index()] = all;
  __syncthreads();
  A start = Operator::template none<T>(), total = parts[0];
#pragma unroll
  for (int warp = 1; warp < BUSY; ++warp) {
    if (warp == warp_index()) start = total;
    total = Operator()(total, parts[warp]);
  }
  if (active) runs.template store<INCLUSIVE>(first, start);
  return T(total);
}

// Scans each row in place, by up to 32 lanes.
template <int THREADS, bool INCLUSIVE, class Operator, class T, int M, int N>
__device__ void scan_rows(tle::tile<T, M, N> x) {
  constexpr int LANES = least(32, N), SHARE = N / LANES, COUNT = vector_of<T>(SHARE), GROUPS = THREADS / LANES;
#pragma unroll 1
  for (int done = 0; done < M; done += GROUPS) {
    const int row = done + int(threadIdx.x) / LANES;  // lanes beyond the last row help in the shuffles
    T* first = x + (row % M) * N;
    Runs<T, Operator, LANES, SHARE / COUNT, COUNT> runs;
    runs.template scan<false>(first);
    if (M % GROUPS == 0 || row < M) runs.template store<INCLUSIVE>(first, Operator::template none<T>());
  }
}

template <int THREADS, class T, int N> __device__ void inclusive_sum(tle::tile<T, N> x) {
  scan_block<THREADS, true, Sum>(x);
}

template <int THREADS, class T, int M, int N> __device__ void row_inclusive_sum(tle::tile<T, M, N> x) {
  scan_rows<THREADS, true, Sum>(x);
}

template <int THREADS, class T, int N> __device__ void exclusive_sum(tle::tile<T, N> x) {
  scan_block<THREADS, false, Sum>(x);
}

template <int THREADS, class T, int M, int N> __device__ void row_exclusive_sum(tle::tile<T, M, N> x) {
  scan_rows<THREADS, false, Sum>(x);
}

template <int THREADS, class T, int N> __device__ void inclusive_max(tle::tile<T, N> x) {
  scan_block<THREADS, true, Max>(x);
}

template <int THREADS, class T, int M, int N> __device__ void row_inclusive_max(tle::tile<T, M, N> x) {
  scan_rows<THREADS, true, Max>(x);
}

template <int THREADS, class T, int N> __device__ void exclusive_max(tle::tile<T, N> x) {
  scan_block<THREADS, false, Max>(x);
}

template <int THREADS, class T, int M, int N> __device__ void row_exclusive_max(tle::tile<T, M, N> x) {
  scan_rows<THREADS, false, Max>(x);
}

template <int THREADS, class T, int N> __device__ void inclusive_min(tle::tile<T, N> x) {
  scan_block<THREADS, true, Min>(x);
}

template <int THREADS, class T, int M, int N> __device__ void row_inclusive_min(tle::tile<T, M, N> x) {
  scan_rows<THREADS, true, Min>(x);
}

template <int THREADS, class T, int N> __device__ void exclusive_min(tle::tile<T, N> x) {
  scan_block<THREADS, false, Min>(x);
}

template <int THREADS, class T, int M, int N> __device__ void row_exclusive_min(tle::tile<T, M, N> x) {
  scan_rows<THREADS, false, Min>(x);
}

template <int THREADS, class T, int N> __device__ T exclusive_prefix(tle::tile<T, N> x) {
  return scan_block<THREADS, false, Sum>(x);
}

}  // namespace tle_primitives

#endif
