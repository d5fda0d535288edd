// The K largest of N keys and where they stood, by CUB's radix sort of a whole block.
#include <cub/block/block_radix_sort.cuh>
#include <tle_raw/tile.h>

template <int THREADS, int N, int K>
__device__ void block_topk(tle::tile<const float, N> keys, tle::tile<float, K> values, tle::tile<int, K> indices) {
  static_assert(N % THREADS == 0 && K <= N, "every thread sorts the same number of keys");
  constexpr int ITEMS = N / THREADS;
  using Sort = cub::BlockRadixSort<float, THREADS, ITEMS, int>;
  __shared__ typename Sort::TempStorage storage;  // static shared memory is a region's own

  // Thread 0 has keys 0 to ITEMS - 1, and so on. In this order the sort is stable: of equal keys the first one wins.
  float key[ITEMS];
  int index[ITEMS];
  for (int item = 0; item < ITEMS; ++item) {
    index[item] = threadIdx.x * ITEMS + item;
    key[item] = keys[index[item]];
  }
  Sort(storage).SortDescendingBlockedToStriped(key, index);

  // Now item i of thread t is number i * THREADS + t from the top.
  for (int item = 0; item < ITEMS; ++item) {
    const int rank = item * THREADS + threadIdx.x;
    if (rank < K) values[rank] = key[item], indices[rank] = index[item];
  }
}
