// Softmax of every row of a tile, in place. One warp takes one row, so shuffles are all that it needs.
#include <tle_raw/tile.h>

constexpr unsigned WARP = 0xffffffffu;  // all lanes take part

__device__ float warp_max(float value) {
  for (int step = 16; step; step /= 2) value = fmaxf(value, __shfl_xor_sync(WARP, value, step));
  return value;  // the same in every lane
}

__device__ float warp_sum(float value) {
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(WARP, value, step);
  return value;
}

template <int M, int N>
__device__ void softmax_rows(tle::tile<float, M, N> t) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (int row = warp; row < M; row += warps) {
    float top = -INFINITY;
    for (int col = lane; col < N; col += 32) top = fmaxf(top, t(row, col));
    top = warp_max(top);

    float sum = 0;
    for (int col = lane; col < N; col += 32) {
      const float power = __expf(t(row, col) - top);  // masked columns hold -inf: they give 0
      t(row, col) = power;                            // a lane reads back only what it wrote itself
      sum += power;
    }
    const float scale = __fdividef(1, warp_sum(sum));  // an exact division would call a subroutine
    for (int col = lane; col < N; col += 32) t(row, col) *= scale;
  }
}
