// A stable radix sort of a tile by the block, of keys alone or with a value each.
//
// The least digit goes first. Each warp ranks the keys that it holds: lanes with equal digits find each other by votes
// and count on in the warp's own counters. The counters of all warps, scanned, are where each digit's keys begin, and
// the keys move through the tile itself.
#ifndef TLE_PRIMITIVES_RADIX_SORT_CUH
#define TLE_PRIMITIVES_RADIX_SORT_CUH

#include "bitonic.cuh"
#include "scan.cuh"

namespace tle_primitives {

// The lanes whose digit is that of the calling lane.
template <int BITS> __device__ inline unsigned lanes_alike(unsigned digit) {
  unsigned alike = WARP;
#pragma unroll
  for (int bit = 0; bit < BITS; ++bit) {
#ifdef TLE_RAW_TEAM
    const bool set = digit >> bit & 1;
    alike &= __ballot_sync(WARP, set) ^ (set ? 0 : WARP);
#else
    // As four instructions; LLVM would choose between the vote and its complement, which are six.
    asm volatile(
        "{ .reg .pred set; .reg .b32 t, vote;\n"
        "  and.b32 t, %1, %2;\n"
        "  setp.ne.b32 set, t, 0;\n"
        "  selp.b32 t, 0, -1, set;\n"
        "  vote.sync.ballot.b32 vote, set, -1;\n"
        "  lop3.b32 %0, %0, vote, t, 0x60; }"  // alike & (vote ^ t)
        : "+r"(alike)
        : "r"(digit), "n"(1 << bit));
#endif
  }
  return alike;
}

// Ranks digits of BITS bits. A thread has ITEMS of them, in the order of the warps, then items, then lanes.
template <int THREADS, int ITEMS, int BITS> struct Ranking {
  static constexpr int WARPS = THREADS / 32, BINS = 1 << BITS;
  static constexpr int COUNT = most(1, BINS / THREADS), BUSY = BINS / COUNT;  // bins of a thread, threads that have some
  using Counter = typename bits_of_size<THREADS * ITEMS < 65536 ? 2 : 4>::type;
  static_assert(BINS >= 32, "whole warps scan the counters");

  struct Storage {
    alignas(16) Counter counters[WARPS][BINS];
    unsigned parts[BUSY / 32];
  };

  template <class Digit> static __device__ void rank(Storage& storage, int (&ranks)[ITEMS], Digit digit_of) {
    Counter* own = storage.counters[warp_index()];
    clear(own);
    __syncwarp();
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const unsigned digit = digit_of(item), alike = lanes_alike<BITS>(digit);
      const int place = int(own[digit]) + __popc(alike & ((1u << lane_index()) - 1));
      __syncwarp();
      if (alike >> lane_index() == 1) own[digit] = Counter(place + 1);  // the last of them
      __syncwarp();
      ranks[item] = place;
    }
    __syncthreads();
    scan(storage);
    __syncthreads();
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) ranks[item] += own[digit_of(item)];
  }

 private:
  static __device__ void clear(Counter* own) {
    constexpr int BYTES = BINS * sizeof(Counter);
    if constexpr (BYTES >= 512) {
#pragma unroll
      for (int i = 0; i < BYTES / 512; ++i) reinterpret_cast<uint4*>(own)[i * 32 + lane_index()] = uint4{0, 0, 0, 0};
    } else {
      for (int i = lane_index(); i < BINS; i += 32) own[i] = 0;
    }
  }

  // Each counter becomes the number of keys with a lesser digit, or the same one in a warp before.
  static __device__ void scan(Storage& storage) {
    const bool busy = THREADS == BUSY || int(threadIdx.x) < BUSY;
    unsigned counts[WARPS][COUNT], sum = 0;
    if (busy) {
#pragma unroll
      for (int bin = 0; bin < COUNT; ++bin)
#pragma unroll
        for (int warp = 0; warp < WARPS; ++warp) {
          counts[warp][bin] = storage.counters[warp][threadIdx.x * COUNT + bin];
          sum += counts[warp][bin];
        }
    }
    unsigned before;
    scan_lanes<32, Sum>(sum, 0u, before);
    if constexpr (BUSY > 32) {
      const unsigned all = __shfl_sync(WARP, sum, 31);
      if (busy && lane_index() == 0) storage.parts[warp_index()] = all;
      __syncthreads();
#pragma unroll
      for (int warp = 0; warp < BUSY / 32; ++warp) before += warp < warp_index() ? storage.parts[warp] : 0;
    }
    if (busy) {
#pragma unroll
      for (int bin = 0; bin < COUNT; ++bin)
#pragma unroll
        for (int warp = 0; warp < WARPS; ++warp) {
          storage.counters[warp][threadIdx.x * COUNT + bin] = Counter(before);
          before += counts[warp][bin];
        }
    }
  }
};

// Sorts N keys in place, and values with them where there are some. LAST is the first bit that is not looked at.
template <int THREADS, bool DESCENDING, class T, class V, int N, int LAST = 8 * sizeof(T)>
__device__ void radix_sort(T* keys, V* values) {
  using U = bits_t<T>;
  constexpr bool PAIRS = !is_same<V, NoValue>;
  constexpr int ITEMS = most(1, N / THREADS), WIDEST = 8;
  __shared__ typename Ranking<THREADS, ITEMS, WIDEST>::Storage storage;
  const int first = warp_index() * 32 * ITEMS + lane_index();
  U* const bits = reinterpret_cast<U*>(keys);
  U key[ITEMS];
  V value[ITEMS];
  const auto present = [&](int item) { return N >= THREADS || first < N; };

#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    key[item] = present(item) ? to_ordered<T>(bits[first + item * 32]) : U(~U(0));
    if (DESCENDING && present(item)) key[item] = U(~key[item]);
    if constexpr (PAIRS)
      if (present(item)) value[item] = values[first + item * 32];
  }
#pragma unroll
  for (int low = 0; low < LAST; low += WIDEST) {
    int ranks[ITEMS];
    Ranking<THREADS, ITEMS, WIDEST>::rank(storage, ranks, [&](int item) { return unsigned(key[item] >> low) & 255; });
    const bool done = low + WIDEST >= LAST;
    // The ranking's barriers stand behind the last reads.
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      if (!present(item)) continue;
      const U out = DESCENDING ? U(~key[item]) : key[item];
      bits[ranks[item]] = done ? from_ordered<T>(out) : key[item];
      if constexpr (PAIRS) values[ranks[item]] = value[item];
    }
    if (done) break;
    __syncthreads();
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      if (!present(item)) continue;
      key[item] = bits[first + item * 32];
      if constexpr (PAIRS) value[item] = values[first + item * 32];
    }
  }
}

template <int THREADS, int DESCENDING, class T, int N> __device__ void radix_sort_keys(tle::tile<T, N> keys) {
  radix_sort<THREADS, bool(DESCENDING), T, NoValue, N>(keys, nullptr);
}

template <int THREADS, int DESCENDING, class T, class V, int N>
__device__ void radix_sort_pairs(tle::tile<T, N> keys, tle::tile<V, N> values) {
  radix_sort<THREADS, bool(DESCENDING), T, V, N>(keys, values);
}

}  // namespace tle_primitives

#endif
