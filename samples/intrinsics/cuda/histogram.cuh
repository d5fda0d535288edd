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

template <int THREADS, int B> __device__ void clear_bins(tle::tile<int, B> counts) {
#pragma unroll
  for (int first = 0; first < B; first += THREADS) {
    if (first + THREADS <= B || first + int(threadIdx.x) < B) counts[first + threadIdx.x] = 0;
  }
  __syncthreads();
}

template <class T, int B, class Bin> __device__ void count_one(T value, tle::tile<int, B> counts, Bin bin_of) {
  const auto bin = bin_of(computed_t<T>(value));
  if (bin < B) atomicAdd(&counts[int(bin)], 1);
}

// `x` stands at a multiple of 16 bytes. The first loads are under way while the counts are cleared.
template <int THREADS, bool CLEAR, class T, int B, class Bin>
__device__ void count_run(const T* x, int n, tle::tile<int, B> counts, Bin bin_of) {
  constexpr int COUNT = 16 / int(sizeof(T)), AHEAD = 2;
  const int vectors = n / COUNT;
  int first = 0;
  do {
    uint4 words[AHEAD];
    auto mine = [&](int ahead) {  // whether this thread has a vector: of whole rounds that is no question
      return first + (ahead + 1) * THREADS <= vectors || first + ahead * THREADS + int(threadIdx.x) < vectors;
    };
#pragma unroll
    for (int ahead = 0; ahead < AHEAD; ++ahead)
      if (mine(ahead)) words[ahead] = reinterpret_cast<const uint4*>(x)[first + ahead * THREADS + threadIdx.x];
    if (CLEAR && first == 0) clear_bins<THREADS>(counts);
#pragma unroll
    for (int ahead = 0; ahead < AHEAD; ++ahead) {
      if (!mine(ahead)) continue;
      T values[COUNT];
      memcpy(values, &words[ahead], 16);
#pragma unroll
      for (int i = 0; i < COUNT; ++i) count_one(values[i], counts, bin_of);
    }
    first += AHEAD * THREADS;
  } while (first < vectors);
  for (int i = vectors * COUNT + int(threadIdx.x); i < n; i += THREADS) count_one(x[i], counts, bin_of);
}

// The same for n numbers from `x` on, in memory of the GPU. Where CLEAR, the counts begin with 0.
template <int THREADS, bool CLEAR, class T, int B, class Bin>
__device__ void count_bins(const T* x, int n, tle::tile<int, B> counts, Bin bin_of) {
  const int beyond = int(reinterpret_cast<unsigned long long>(x) % 16 / sizeof(T));
  if (beyond == 0) {  // apart: of a constant n the compiler then knows how often its loop turns
    count_run<THREADS, CLEAR>(x, n, counts, bin_of);
    return;
  }
  const int before = least(n, 16 / int(sizeof(T)) - beyond);
  count_run<THREADS, CLEAR>(x + before, n - before, counts, bin_of);
  if (int(threadIdx.x) < before) count_one(x[threadIdx.x], counts, bin_of);
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
  clear_bins<THREADS>(counts);
  count_bins<THREADS>(x, counts, OwnBin());
}

template <int THREADS, class T, int B> __device__ void run_histogram(const T* x, int n, tle::tile<int, B> counts) {
  count_bins<THREADS, true>(x, n, counts, OwnBin());
}

template <int THREADS, class T, int B> __device__ void run_histogram_add(const T* x, int n, tle::tile<int, B> counts) {
  count_bins<THREADS, false>(x, n, counts, OwnBin());
}

template <int THREADS, class T, int N, int B>
__device__ void histogram_add(tle::tile<const T, N> x, tle::tile<int, B> counts) {
  count_bins<THREADS>(x, counts, OwnBin());
}

template <int THREADS, class T, class A, int N, int B>
__device__ void histogram_even(tle::tile<const T, N> x, A low, A high, tle::tile<int, B> counts) {
  using Computed = computed_t<T>;
  clear_bins<THREADS>(counts);
  count_bins<THREADS>(x, counts, EvenBin<Computed, B>{Computed(low), Computed(B) / (Computed(high) - Computed(low))});
}

}  // namespace tle_primitives

#endif
