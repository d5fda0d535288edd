// Bitonic sorts and merges: of a tile by the block, of its rows by a warp each. Equal keys lose their order.
//
// Place p of the sequence is item p % ITEMS of thread p / ITEMS. Every exchange puts the lesser key at the lower place:
// the first one of a merge is with the mirrored place, which makes of two ascending runs a bitonic one.
#ifndef TLE_PRIMITIVES_BITONIC_CUH
#define TLE_PRIMITIVES_BITONIC_CUH

#include "vectors.cuh"

namespace tle_primitives {

template <class U> __device__ inline U shuffle_xor(U value, int lanes) {
  if constexpr (sizeof(U) < 4)
    return U(__shfl_xor_sync(WARP, unsigned(value), lanes));
  else
    return __shfl_xor_sync(WARP, value, lanes);
}

// What is sorted: a key, or a key and a value, as bits. Both lie in arrays of their own in shared memory.
template <class U> struct Key {
  U key;
  struct Arrays {
    U* keys;
  };
  static __device__ bool before(Key a, Key b) { return a.key < b.key; }
  static __device__ Key choose(bool first, Key a, Key b) { return {first ? a.key : b.key}; }
  __device__ Key across(int lanes) const { return {shuffle_xor(key, lanes)}; }
  __device__ void put(Arrays to, int place) const { to.keys[place] = key; }
  static __device__ Key get(Arrays from, int place) { return {from.keys[place]}; }
};

// RANKED: of equal keys that with the lesser value comes first.
template <class U, class W, bool RANKED> struct Pair {
  U key;
  W value;
  struct Arrays {
    U* keys;
    W* values;
  };
  static __device__ bool before(Pair a, Pair b) {
    return a.key < b.key || (RANKED && a.key == b.key && a.value < b.value);
  }
  // Each member for itself: a choice between two objects is one between their addresses, which keeps them in memory.
  static __device__ Pair choose(bool first, Pair a, Pair b) {
    return {first ? a.key : b.key, first ? a.value : b.value};
  }
  __device__ Pair across(int lanes) const { return {shuffle_xor(key, lanes), shuffle_xor(value, lanes)}; }
  __device__ void put(Arrays to, int place) const { to.keys[place] = key, to.values[place] = value; }
  static __device__ Pair get(Arrays from, int place) { return {from.keys[place], from.values[place]}; }
};

template <class E> __device__ inline void exchange(E& low, E& high) {
  const bool swap = E::before(high, low);
  const E lesser = E::choose(swap, high, low);
  high = E::choose(swap, low, high);
  low = lesser;
}

// One side of an exchange with another thread. Of equal keys both keep their own.
template <class E> __device__ inline E keep(E mine, E other, bool lesser) {
  return E::choose(lesser ? E::before(other, mine) : E::before(mine, other), other, mine);
}

// ITEMS elements in each of PEERS threads, which sort together: lanes of a warp, or warps, which meet in `arrays`.
// Threads of the block beyond them go along with what they have, and write nothing.
template <class E, int ITEMS, int PEERS> struct Bitonic {
  using Arrays = typename E::Arrays;

  // Sizes are template arguments: as loops they are too long to be unrolled, and arrays would lie in memory.
  template <int SIZE = ITEMS * PEERS> static __device__ void sort(E (&e)[ITEMS], Arrays arrays) {
    if constexpr (SIZE > 1) {
      sort<SIZE / 2>(e, arrays);
      merge<SIZE>(e, arrays);
    }
  }

  // Makes runs of SIZE that ascend of pairs of half as long ones.
  template <int SIZE> static __device__ void merge(E (&e)[ITEMS], Arrays arrays) {
    if constexpr (SIZE <= ITEMS) {
#pragma unroll
      for (int i = 0; i < ITEMS; ++i)
        if (i < (i ^ (SIZE - 1))) exchange(e[i], e[i ^ (SIZE - 1)]);
    } else {
      E other[ITEMS], kept[ITEMS];
      across<SIZE / ITEMS - 1>(other, e, arrays);
      const bool lesser = !(threadIdx.x & SIZE / ITEMS / 2);
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) kept[i] = keep(e[i], other[ITEMS - 1 - i], lesser);
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) e[i] = kept[i];
    }
    straight<SIZE / 4>(e, arrays);
  }

 private:
  // Place p with place p ^ STEP, and on with half of that.
  template <int STEP> static __device__ void straight(E (&e)[ITEMS], Arrays arrays) {
    if constexpr (STEP >= ITEMS) {
      E other[ITEMS];
      across<STEP / ITEMS>(other, e, arrays);
      const bool lesser = !(threadIdx.x & STEP / ITEMS);
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) e[i] = keep(e[i], other[i], lesser);
    } else if constexpr (STEP > 0) {
#pragma unroll
      for (int i = 0; i < ITEMS; ++i)
        if (!(i & STEP)) exchange(e[i], e[i ^ STEP]);
    }
    if constexpr (STEP > 1) straight<STEP / 2>(e, arrays);
  }

  // What the thread holds whose number differs in the bits of DISTANCE.
  template <int DISTANCE>
  static __device__ void across(E (&other)[ITEMS], const E (&e)[ITEMS], Arrays arrays) {
    if constexpr (DISTANCE < 32) {
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) other[i] = e[i].across(DISTANCE);
    } else {
      const int thread = threadIdx.x % PEERS;
      __syncthreads();
#pragma unroll
      for (int i = 0; i < ITEMS; ++i)
        if (threadIdx.x < PEERS) e[i].put(arrays, i * PEERS + thread);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) other[i] = E::get(arrays, i * PEERS + (thread ^ DISTANCE));
    }
  }
};

struct NoValue {};

template <class T, class V, bool RANKED> struct element_of { using type = Pair<bits_t<T>, bits_t<V>, RANKED>; };
template <class T> struct element_of<T, NoValue, false> { using type = Key<bits_t<T>>; };

// Keys, and values where there are some, of a sequence in shared memory.
template <bool DESCENDING, class T, class V, bool RANKED = false> struct Sequence {
  using U = bits_t<T>;
  using E = typename element_of<T, V, RANKED>::type;
  typename E::Arrays arrays;

  template <int ITEMS> __device__ void load(E (&e)[ITEMS], int first, int step) const {
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      e[i] = E::get(arrays, first + i * step);
      e[i].key = to_ordered<T>(e[i].key);
      if (DESCENDING) e[i].key = U(~e[i].key);
    }
  }

  template <int ITEMS> __device__ void store(E (&e)[ITEMS], int first) const {
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) e[i].key = from_ordered<T>(DESCENDING ? U(~e[i].key) : e[i].key);
    constexpr int RUN = vector_of<U>(ITEMS);
#pragma unroll
    for (int run = 0; run < ITEMS; run += RUN) {
      computed_t<U> keys[RUN];
      for (int i = 0; i < RUN; ++i) keys[i] = e[run + i].key;
      store_vector(arrays.keys + first + run, keys);
      if constexpr (!is_same<V, NoValue>)
        for (int i = 0; i < RUN; ++i) arrays.values[first + run + i] = e[run + i].value;
    }
  }
};

// With SORTED halves they are merged, else all is sorted.
template <int THREADS, bool SORTED, int N, class Sequence> __device__ void bitonic_block(Sequence sequence) {
  constexpr int ITEMS = most(1, N / THREADS), PEERS = N / ITEMS;
  using E = typename Sequence::E;
  const int thread = threadIdx.x % PEERS;
  E e[ITEMS];
  if constexpr (SORTED) {
    sequence.load(e, thread * ITEMS, 1);
    Bitonic<E, ITEMS, PEERS>::template merge<N>(e, sequence.arrays);
  } else {
    sequence.load(e, thread, PEERS);  // in any order: without bank conflicts
    Bitonic<E, ITEMS, PEERS>::sort(e, sequence.arrays);
  }
  __syncthreads();
  if (PEERS == THREADS || threadIdx.x < PEERS) sequence.store(e, thread * ITEMS);
}

template <int THREADS, bool SORTED, int M, int N, class Sequence> __device__ void bitonic_rows(Sequence sequence) {
  constexpr int LANES = least(32, N), ITEMS = N / LANES, GROUPS = THREADS / LANES;
  using E = typename Sequence::E;
  const int lane = lane_index() % LANES;
#pragma unroll 1
  for (int done = 0; done < M; done += GROUPS) {
    const int row = done + int(threadIdx.x) / LANES, first = row % M * N;
    E e[ITEMS];
    if constexpr (SORTED) {
      sequence.load(e, first + lane * ITEMS, 1);
      Bitonic<E, ITEMS, LANES>::template merge<N>(e, sequence.arrays);
    } else {
      sequence.load(e, first + lane, LANES);
      Bitonic<E, ITEMS, LANES>::sort(e, sequence.arrays);
    }
    __syncwarp();
    if (M % GROUPS == 0 || row < M) sequence.store(e, first + lane * ITEMS);
  }
}

template <bool DESCENDING, class T> __device__ inline Sequence<DESCENDING, T, NoValue> sequence_of(T* keys) {
  return {{reinterpret_cast<bits_t<T>*>(keys)}};
}

template <bool DESCENDING, class T, class V> __device__ inline Sequence<DESCENDING, T, V> sequence_of(T* keys, V* values) {
  return {{reinterpret_cast<bits_t<T>*>(keys), reinterpret_cast<bits_t<V>*>(values)}};
}

template <int THREADS, int DESCENDING, class T, int N> __device__ void bitonic_sort(tle::tile<T, N> keys) {
  bitonic_block<THREADS, false, N>(sequence_of<bool(DESCENDING)>(keys.data()));
}

template <int THREADS, int DESCENDING, class T, class V, int N>
__device__ void bitonic_sort_pairs(tle::tile<T, N> keys, tle::tile<V, N> values) {
  bitonic_block<THREADS, false, N>(sequence_of<bool(DESCENDING)>(keys.data(), values.data()));
}

template <int THREADS, int DESCENDING, class T, int N> __device__ void bitonic_merge(tle::tile<T, N> keys) {
  bitonic_block<THREADS, true, N>(sequence_of<bool(DESCENDING)>(keys.data()));
}

template <int THREADS, int DESCENDING, class T, int M, int N> __device__ void row_sort(tle::tile<T, M, N> keys) {
  bitonic_rows<THREADS, false, M, N>(sequence_of<bool(DESCENDING)>(keys.data()));
}

template <int THREADS, int DESCENDING, class T, class V, int M, int N>
__device__ void row_sort_pairs(tle::tile<T, M, N> keys, tle::tile<V, M, N> values) {
  bitonic_rows<THREADS, false, M, N>(sequence_of<bool(DESCENDING)>(keys.data(), values.data()));
}

template <int THREADS, int DESCENDING, class T, int M, int N> __device__ void row_merge(tle::tile<T, M, N> keys) {
  bitonic_rows<THREADS, true, M, N>(sequence_of<bool(DESCENDING)>(keys.data()));
}

}  // namespace tle_primitives

#endif
