// Counts of a tile's numbers, by atomics in shared memory on the tile of counts itself.
#ifndef TLE_PRIMITIVES_HISTOGRAM_CUH
#define TLE_PRIMITIVES_HISTOGRAM_CUH

#include "vectors.cuh"

namespace tle_primitives {

// bin_of(element) is unsigned; elements with B or more are not counted.
template <int THREADS, class T, int N, int B, class Bin>
__device__ void count_bins(tle::tile<const T, N> x, tle::tile<int, B> counts, Bin bin_of) {
  constexpr int PEERS = least(THREADS, N), SHARE = N / PEERS, COUNT = vector_of<T>(SHARE);
  if (PEERS < THREADS && threadIdx.x >= PEERS) return;
#pragma unroll
  for (int run = 0; run < SHARE / COUNT; ++run) {
    computed_t<T> values[COUNT];
    load_vector(values, x.data() + (run * PEERS + threadIdx.x) * COUNT);
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const auto bin = bin_of(values[i]);
      if (bin < B) atomicAdd(&counts[int(bin)], 1);
    }
  }
}

template <int B> __device__ void clear_bins(tle::tile<int, B> counts) {
  for (int i : counts.indices()) counts[i] = 0;
  __syncthreads();
}

struct OwnBin {
  __device__ unsigned operator()(int value) const { return value; }
  __device__ unsigned operator()(unsigned value) const { return value; }
  __device__ unsigned long long operator()(long long value) const { return value; }
  __device__ unsigned long long operator()(unsigned long long value) const { return value; }
};

// B bins of equal width from low on.
template <class A, int B> struct EvenBin {
  A low, scale;
  __device__ unsigned operator()(A value) const {
    const A place = (value - low) * scale;
    return place >= 0 && place < B ? unsigned(place) : ~0u;
  }
};

template <int THREADS, class T, int N, int B>
__device__ void histogram(tle::tile<const T, N> x, tle::tile<int, B> counts) {
  clear_bins(counts);
  count_bins<THREADS>(x, counts, OwnBin());
}

template <int THREADS, class T, int N, int B>
__device__ void histogram_add(tle::tile<const T, N> x, tle::tile<int, B> counts) {
  count_bins<THREADS>(x, counts, OwnBin());
}

template <int THREADS, class T, class A, int N, int B>
__device__ void histogram_even(tle::tile<const T, N> x, A low, A high, tle::tile<int, B> counts) {
  using Computed = computed_t<T>;
  clear_bins(counts);
  count_bins<THREADS>(x, counts, EvenBin<Computed, B>{Computed(low), Computed(B) / (Computed(high) - Computed(low))});
}

}  // namespace tle_primitives

#endif
