// The K greatest of a tile and where they stood: of equal ones the first.
//
// The K-th greatest is found by counts of its digits, the greatest digit first. What is above it, and the first of what
// is equal to it, moves to the front in its order, and K of them are sorted there.
#ifndef TLE_PRIMITIVES_TOPK_CUH
#define TLE_PRIMITIVES_TOPK_CUH

#include "bitonic.cuh"
#include "scan.cuh"

namespace tle_primitives {

constexpr int DIGIT = 8, BINS = 1 << DIGIT;

struct Selection {
  unsigned counts[BINS];
  unsigned digit, above, alike;  // the digit that the K-th has, how many have a greater one, how many that one
};

// The digit of the `wanted`-th greatest, counted in storage.counts, by the first warp.
__device__ inline void choose_digit(Selection& storage, unsigned wanted) {
  constexpr int EACH = BINS / 32;
  const int last = BINS - 1 - lane_index() * EACH;  // lane 0 has the greatest digits
  unsigned counts[EACH], sum = 0, before;
#pragma unroll
  for (int i = 0; i < EACH; ++i) sum += counts[i] = storage.counts[last - i];
  scan_lanes<32, Sum>(sum, 0u, before);
  if (before >= wanted || sum < wanted) return;
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    if (before < wanted && before + counts[i] >= wanted)
      storage.digit = last - i, storage.above = before, storage.alike = counts[i];
    before += counts[i];
  }
}

// Of the keys in registers, the K-th greatest, as far as `mask` has bits: K are not less in these. `equal` of those
// that are equal in them are among the K.
template <int THREADS, int K, int ITEMS, class U, class Present>
__device__ U select_key(Selection& storage, const U (&key)[ITEMS], U& mask, unsigned& equal, Present present) {
  U chosen = 0;
  mask = 0;
  unsigned wanted = K;
#pragma unroll
  for (int low = 8 * sizeof(U) - DIGIT; low >= 0; low -= DIGIT) {
    for (int bin = threadIdx.x; bin < BINS; bin += THREADS) storage.counts[bin] = 0;
    __syncthreads();
#pragma unroll
    for (int item = 0; item < ITEMS; ++item)
      if (present(item) && (key[item] & mask) == chosen) atomicAdd(&storage.counts[unsigned(key[item] >> low) & 255], 1u);
    __syncthreads();
    if (warp_index() == 0) choose_digit(storage, wanted);
    __syncthreads();
    chosen |= U(U(storage.digit) << low);
    mask |= U(U(255) << low);
    wanted -= storage.above;
    if (storage.alike == wanted) break;  // all of them: no need to tell them apart
  }
  equal = wanted;
  return chosen;
}

template <int THREADS, class T, int N, int K>
__device__ void topk(tle::tile<const T, N> x, tle::tile<T, K> values, tle::tile<int, K> indices) {
  static_assert(K <= N, "no more than there are");
  using U = bits_t<T>;
  constexpr int ITEMS = most(1, N / THREADS), WARPS = THREADS / 32;
  __shared__ Selection storage;
  __shared__ unsigned starts[WARPS];
  const int first = warp_index() * 32 * ITEMS + lane_index();
  const auto present = [&](int item) { return N >= THREADS || first < N; };
  U key[ITEMS];
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) key[item] = present(item) ? to_ordered<T>(bits_from(x[first + item * 32])) : U(0);

  U mask;
  unsigned equal;
  const U chosen = select_key<THREADS, K>(storage, key, mask, equal, present);
  const auto is_above = [&](int item) { return present(item) && (key[item] & mask) > chosen; };
  const auto is_alike = [&](int item) { return present(item) && (key[item] & mask) == chosen; };

  // Both are counted in one word: those above in the lower half, those equal in the upper one.
  unsigned own = 0;
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const unsigned above = __ballot_sync(WARP, is_above(item)), alike = __ballot_sync(WARP, is_alike(item));
    own += __popc(above) + (__popc(alike) << 16);
  }
  if (lane_index() == 0) starts[warp_index()] = own;
  __syncthreads();
  unsigned start = 0;
#pragma unroll
  for (int warp = 0; warp < WARPS; ++warp) start += warp < warp_index() ? starts[warp] : 0;

  const unsigned lower = (1u << lane_index()) - 1;
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const unsigned above = __ballot_sync(WARP, is_above(item)), alike = __ballot_sync(WARP, is_alike(item));
    const int of_alike = int(start >> 16) + __popc(alike & lower);
    const bool taken = is_alike(item) && of_alike < int(equal);
    const int place = taken ? K - int(equal) + of_alike : int(start & 0xffff) + __popc(above & lower);
    if (taken || is_above(item)) {
      values[place] = from_bits<T>(from_ordered<T>(key[item]));
      indices[place] = first + item * 32;
    }
    start += __popc(above) + (__popc(alike) << 16);
  }
  __syncthreads();
  bitonic_block<THREADS, false, K>(
      Sequence<true, T, int, true>{{reinterpret_cast<U*>(values.data()), reinterpret_cast<unsigned*>(indices.data())}});
}

}  // namespace tle_primitives

#endif
