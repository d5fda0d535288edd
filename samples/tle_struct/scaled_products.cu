// The region of 25_fp8_grouped_gemm.py: `fetch_scaled_tiles` fills slots of shared memory with fp8 and its scales.
#include <tle_raw/barrier.h>
#include <tle_raw/buffer.h>
#include <tle_raw/descriptor.h>

#include "moe_tiles.h"

// Copies one scale.
static __device__ void copy_scale(float* to, const float* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(unsigned(__cvta_generic_to_shared(to))),
               "l"(__cvta_generic_to_global(from)) : "memory");
}

// Takes tiles until none is left, and fills slots in turn, each with a step of the weights and of the tokens' rows, the
// tokens' scales, behind these the weights' of each 128 columns, and the number of the tile, or -1 behind the last. Slots'
// barriers count an arrival of each thread, when its copies are done, and one that tells of the weights' bytes. What does
// not change from step to step is computed before: a step is short, and a warp does one thing after the other.
//
// The first tile is the program's own, the others are who comes first's: `taken` counts them, and is 0 again when all
// programs have ended.
template <class T, int S, int M, int N, int R, int L, int K, int C, class Layout, class Plain>
__device__ void fetch_scaled_tiles(const T* x, const float* x_scales, const float* w_scales, const int* pairs,
                                   const int* blocks, int* taken, tle::descriptor<T, N, K> weights,
                                   tle::buffer<T, Layout, R, K> w, tle::buffer<T, Layout, L, K> rows,
                                   tle::buffer<float, Plain, C> scales, tle::barrier full, tle::barrier empty, int count,
                                   int choices, int height, int depth, int group, int first, int programs) {
  constexpr int RUN = 16, RUNS = K / RUN, AT_ONCE = 128 / RUNS, PASSES = M / AT_ONCE, OWN = (M + 127) / 128;
  constexpr int PARTS = N / 128;
  static_assert(sizeof(T) == 1 && K == 128 && C > M + PARTS, "a scale stands for 128 numbers of a byte");
  const int thread = threadIdx.x, line = thread / RUNS, column = thread % RUNS;
  const int steps = (depth + K - 1) / K, runs = depth / RUN, scaled = (height + 127) / 128;
  const places at{reinterpret_cast<const block_of_pairs*>(blocks), count, (height + N - 1) / N, group};
  const int tiles = count * at.columns;
  __shared__ int next;
  block_of_pairs block = {};
  if (first < tiles) block = at.block(first);
  int pair[PASSES], own_pair[OWN];  // of the next tile: whose runs the thread copies, and whose scales
  auto load_pairs = [&] {
    auto of = [&](int i) { return i < block.count ? pairs[block.begin + i] : 0; };
#pragma unroll
    for (int pass = 0; pass < PASSES; ++pass) pair[pass] = of(pass * AT_ONCE + line);
#pragma unroll
    for (int i = 0; i < OWN; ++i) own_pair[i] = of(i * 128 + thread);
  };
  load_pairs();
  auto take = [&] {
    const int tile = programs + atomicAdd(taken, 1);
    if (tile == tiles + programs - 1) *taken = 0;  // who is told this is the last who asks
    return tile;
  };
  auto scales_of = [&](int slot) { return scales.data() + slot * C; };
  auto say_tile = [&](int slot, int tile) { *reinterpret_cast<int*>(scales_of(slot) + M + PARTS) = tile; };
  int step = 0;
  for (int tile = first, following; tile < tiles; tile = following) {
    const int present = block.count, part = at.column(tile) * PARTS + thread;
    const int row = block.expert * height + at.column(tile) * N;
    const bool has_part = thread < PARTS && part < scaled;
    const float* of_part = w_scales + (has_part ? ((long long)block.expert * scaled + part) * steps : 0);
    unsigned from[PASSES];  // counted in runs
#pragma unroll
    for (int pass = 0; pass < PASSES; ++pass) from[pass] = pair[pass] / choices * runs + column;
    const float* of_own[OWN];
#pragma unroll
    for (int i = 0; i < OWN; ++i) of_own[i] = x_scales + (long long)(own_pair[i] / choices) * steps;
    for (int k = 0; k < steps; ++k, ++step) {
      const int slot = step % S;
      const tle::barrier here(full.word() + slot);
      T* to = tle::buffer<T, Layout, M, K>(rows.data() + slot * M * K).data(line, column * RUN);
      float* to_scales = scales_of(slot);
      tle::barrier(empty.word() + slot, 1).wait(step / S);
      if (thread == 0) {
        if (k == 0) {
          say_tile(slot, tile);
          next = take();
        }
        here.expect(weights.bytes());
        weights.load(tle::buffer<T, Layout, N, K>(w.data() + slot * N * K), here, row, k * K);
      }
      const bool is_inside = k * RUNS + column < runs;
      const T* at_step = x + (is_inside ? (long long)k * K : 0);
#pragma unroll
      for (int pass = 0; pass < PASSES; ++pass)  // each eight lines are laid out as all eight are
        if (pass * AT_ONCE < present)
          copy_run(to + pass * AT_ONCE * K, at_step + (unsigned long long)from[pass] * RUN, is_inside);
#pragma unroll
      for (int i = 0; i < OWN; ++i)
        if (i * 128 + thread < present) copy_scale(to_scales + i * 128 + thread, of_own[i] + k);
      if (has_part) copy_scale(to_scales + M + thread, of_part + k);
      here.arrive_after_copies();
      if (k == min(1, steps - 1)) {
        __syncthreads();  // all threads see `next`, and thread 0 writes it a tile later
        following = next;
        block = at.block(min(following, tiles - 1));
      }
      if (k == min(2, steps - 1)) load_pairs();  // `block` has come by then
    }
    __syncthreads();
  }
  const tle::barrier here(full.word() + step % S);
  tle::barrier(empty.word() + step % S, 1).wait(step / S);
  if (thread == 0) {
    say_tile(step % S, -1);
    here.arrive();
  }
  here.arrive_after_copies();
}
