#include <tle_raw/tile.h>

template <int N> __device__ void add(tle::tile<float, N> t, int n) {
  for (int i : t.indices()) t[i] += n;
}
