// The regions of 10_moe_grouped_gemm.py: `fetch_tiles` fills slots of shared memory, `multiply_tiles` multiplies them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <tle_raw/barrier.h>
#include <tle_raw/buffer.h>
#include <tle_raw/descriptor.h>

#include "moe_tiles.h"

// Begins the copy of a step's weights into a slot. With STREAM they leave the L2 cache before what is used again: where
// they come by once or twice, and their bytes are what takes the time.
template <int STREAM, class T, int N, int K, class Layout>
__device__ void load_weights(tle::descriptor<T, N, K> weights, tle::buffer<T, Layout, N, K> to, tle::barrier full, int row,
                             int column) {
  full.expect(weights.bytes());
#if !defined(TLE_RAW_TEAM)
  if constexpr (STREAM != 0) {
    unsigned long long first_to_leave;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first_to_leave));
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
        " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(unsigned(__cvta_generic_to_shared(to.data()))), "l"(weights.map()),
        "r"(column), "r"(row), "r"(full.address()), "l"(first_to_leave) : "memory");
    return;
  }
#endif
  weights.load(to, full, row, column);
}

// Writes 16 bytes of y. With STREAM they stay in the L2 cache: somebody is going to read them.
template <int STREAM, class T> __device__ void write_run(T* to, const T* from) {
  const uint4 run = *reinterpret_cast<const uint4*>(from);
#if !defined(TLE_RAW_TEAM)
  if constexpr (STREAM != 0) {
    unsigned long long last_to_leave;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(last_to_leave));
    asm volatile("st.global.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(__cvta_generic_to_global(to)),
                 "r"(run.x), "r"(run.y), "r"(run.z), "r"(run.w), "l"(last_to_leave) : "memory");
    return;
  }
#endif
  *reinterpret_cast<uint4*>(to) = run;
}

// Fills the slots of all tiles of the program in turn, each with a step of the weights and of the tokens' rows. Slots'
// barriers count an arrival of each thread, when its copies are done, and one that tells of the weights' bytes.
template <class T, int S, int THREADS, int M, int STREAM, int N, int R, int K, class Layout>
__device__ void fetch_tiles(const T* x, const int* pairs, const int* blocks, tle::descriptor<T, N, K> weights,
                            tle::buffer<T, Layout, N, K> w, tle::buffer<T, Layout, R, K> rows, tle::barrier full,
                            tle::barrier empty, int count, int choices, int height, int depth, int group, int first,
                            int programs) {
  constexpr int RUN = 16 / sizeof(T), RUNS = K / RUN, AT_ONCE = THREADS / RUNS, PASSES = M / AT_ONCE;
  const int own = threadIdx.x / RUNS, column = threadIdx.x % RUNS, steps = (depth + K - 1) / K, runs = depth / RUN;
  const places at{reinterpret_cast<const block_of_pairs*>(blocks), count, (height + N - 1) / N, group};
  const int tiles = count * at.columns;
  if (first >= tiles) return;
  block_of_pairs block = at.block(first);
  int pair[PASSES];  // that the thread copies of the next tile
  auto load_pairs = [&] {
#pragma unroll
    for (int pass = 0; pass < PASSES; ++pass) {
      const int i = pass * AT_ONCE + own;
      pair[pass] = i < block.count ? pairs[block.begin + i] : 0;
    }
  };
  load_pairs();
  for (int tile = first, step = 0; tile < tiles; tile += programs) {
    const int present = block.count;
    const int row = block.expert * height + at.column(tile) * N;
    unsigned from[PASSES];  // counted in runs
#pragma unroll
    for (int pass = 0; pass < PASSES; ++pass) from[pass] = pair[pass] / choices * runs + column;
    block = at.block(min(tile + programs, tiles - 1));
    for (int k = 0; k < steps; ++k, ++step) {
      const int slot = step % S;
      const tle::barrier here(full.word() + slot);
      const tle::buffer<T, Layout, M, K> to(rows.data() + slot * M * K);
      tle::barrier(empty.word() + slot, 1).wait(step / S);
      if (threadIdx.x == 0)
        load_weights<STREAM>(weights, tle::buffer<T, Layout, N, K>(w.data() + slot * N * K), here, row, k * K);
      const bool is_inside = k * RUNS + column < runs;
#pragma unroll
      for (int pass = 0; pass < PASSES; ++pass)
        if (pass * AT_ONCE < present)
          copy_run(to.data(pass * AT_ONCE + own, column * RUN),
                   is_inside ? x + (unsigned long long)(from[pass] + k * RUNS) * RUN : x, is_inside);
      here.arrive_after_copies();
      if (k == min(1, steps - 1)) load_pairs();  // `block` has come by then
    }
  }
}

template <int VALUE> struct constant { static constexpr int value = VALUE; };

// add_products(sum, w, x, T*) adds the products of 2 * 64 rows of weights and as many rows of tokens as `sum` has numbers,
// 64 numbers deep.
#if !defined(TLE_RAW_TEAM)
// PRODUCTS
// The low word of what wgmma takes for an operand: where it is.
__device__ unsigned operand(const void* from) { return 1 << 16 | unsigned(__cvta_generic_to_shared(from)) >> 4; }
#endif

// The four warps that multiply one half of a tile's rows of weights wait for each other.
static __device__ void meet(int half) {
  if (half == 0) asm volatile("bar.sync 1, 128;" ::: "memory");
  else asm volatile("bar.sync 2, 128;" ::: "memory");
}

// Which of 64 rows of weights times some tokens a thread has the sums of. Of eight tokens they are four: of two tokens
// side by side, in a row, and in the one eight rows below.
struct own_sums {
  int lane, warp;
  __device__ int row(int i) const { return warp * 16 + lane / 4 + i / 2 % 2 * 8; }
  __device__ int token(int i) const { return i / 4 * 8 + lane % 4 * 2 + i % 2; }
};

// Adds a slot's products to the sums.
template <int WIDTH, class T, class Layout, int N, int M, int K>
__device__ void multiply_step(float (&sum)[WIDTH], tle::buffer<T, Layout, N, K> w, tle::buffer<T, Layout, M, K> x,
                              int half, own_sums own) {
#if defined(TLE_RAW_TEAM)
  for (int i = 0; i < WIDTH; ++i) {
    const int row = half * N / 2 + i / (WIDTH / 2) * 64 + own.row(i % (WIDTH / 2));
    for (int k = 0; k < K; ++k) sum[i] += float(w(row, k)) * float(x(own.token(i % (WIDTH / 2)), k));
  }
#else
  add_products(sum, operand(w.data() + half * N / 2 * K), operand(x.data()), static_cast<const T*>(nullptr));
#endif
}

// Puts 64 rows of sums of 32 tokens, from `first` on, into lines of 64 numbers, one for each token. Runs of 16 bytes change
// places, so that those of eight lines lie in different banks.
template <int WIDTH, class T> __device__ void turn(T* lines, const float* sum, int first, own_sums own) {
#if defined(TLE_RAW_TEAM)
  for (int i = 0; i < 16 && first + i / 4 * 8 < WIDTH; ++i) {
    const int token = own.token(i), row = own.row(i);
    lines[token * 64 + (row ^ token % 8 * 8)] = T(sum[first / 2 + i]);
  }
#else
#pragma unroll
  for (int next = 0; next < 32 && first + next < WIDTH; next += 16) {
    unsigned pairs[4] = {};
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      if (first + next + i / 4 * 8 < WIDTH) {
        const int at = (first + next) / 2 + i;
        const T both[2] = {T(sum[at]), T(sum[at + 1])};
        memcpy(&pairs[i / 2], both, sizeof both);
      }
    }
    const int token = next + own.lane / 16 * 8 + own.lane % 8, run = own.warp * 2 + own.lane / 8 % 2;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::
                 "r"(unsigned(__cvta_generic_to_shared(lines + token * 64 + (run ^ token % 8) * 8))),
                 "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3]) : "memory");
  }
#endif
}

// A tile, half of whose rows of weights are the four warps', from `row` of the expert's on. With one step's products under
// way. `ahead` is called in each step: it asks for what the next tile is.
template <int WIDTH, class T, int S, int M, int STREAM, int N, int R, int K, class Layout, class Ahead>
__device__ void multiply_tile(T* y, const int* pairs, T* passage, tle::buffer<T, Layout, N, K> w,
                              tle::buffer<T, Layout, R, K> x, tle::barrier full, tle::barrier empty, int count,
                              int half, int row, int height, int step, int steps, Ahead ahead) {
  const int thread = threadIdx.x % 128;
  const own_sums own{thread % 32, thread / 32};
  float sum[WIDTH];
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) sum[i] = 0;
  auto release = [&](int used) {
    if (own.lane == 0) tle::barrier(empty.word() + used % S).arrive();
  };
  for (int k = 0; k < steps; ++k, ++step) {
    const int slot = step % S;
    ahead(k);
    tle::barrier(full.word() + slot).wait(step / S);
    tle::barrier::fence();  // wgmma reads shared memory by another way than cp.async writes it
    multiply_step(sum, tle::buffer<T, Layout, N, K>(w.data() + slot * N * K),
                  tle::buffer<T, Layout, M, K>(x.data() + slot * M * K), half, own);
    if (k > 0) release(step - 1);
  }
#if !defined(TLE_RAW_TEAM)
  complete(sum);
#endif
  release(step - 1);
  const int column = thread % 8 * 8;
#pragma unroll
  for (int first = 0; first < WIDTH; first += 32) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      T* lines = passage + part * 32 * 64;
      turn<WIDTH>(lines, sum + part * (WIDTH / 2), first, own);
      meet(half);
#pragma unroll
      for (int token = thread / 8; token < 32; token += 16) {
        const int at = row + part * 64 + column;
        if (first + token < count && at < height)
          write_run<STREAM>(y + (unsigned long long)unsigned(pairs[first + token]) * unsigned(height) + at,
                    lines + token * 64 + (column ^ token % 8 * 8));
      }
    }
  }
}

// Multiplies what `fetch_tiles` fetches.
template <class T, int S, int M, int STREAM, int N, int R, int K, class Layout>
__device__ void multiply_tiles(T* y, const int* pairs, const int* blocks, tle::buffer<T, Layout, N, K> w,
                               tle::buffer<T, Layout, R, K> x, tle::barrier full, tle::barrier empty, int count,
                               int height, int depth, int group, int first, int programs) {
  __shared__ alignas(16) T passages[2][2 * 32 * 64];
  __shared__ int pairs_of[2][M];
  const int half = threadIdx.x / 128, thread = threadIdx.x % 128, steps = (depth + K - 1) / K;
  const places at{reinterpret_cast<const block_of_pairs*>(blocks), count, (height + N - 1) / N, group};
  const int tiles = count * at.columns;
  if (first >= tiles) return;
  block_of_pairs next = at.block(first);
  constexpr int EACH = (M + 127) / 128;
  int own_pairs[EACH];  // of the next tile
  auto load_pairs = [&] {
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
      const int at = thread + i * 128;
      own_pairs[i] = at < next.count ? pairs[next.begin + at] : 0;
    }
  };
  load_pairs();
  for (int tile = first, step = 0; tile < tiles; tile += programs, step += steps) {
    const block_of_pairs block = next;
    meet(half);  // none of them writes the tile before any more
#pragma unroll
    for (int i = 0; i < EACH; ++i)
      if (thread + i * 128 < M) pairs_of[half][thread + i * 128] = own_pairs[i];
    auto ahead = [&](int k) {
      if (k == 0) next = at.block(min(tile + programs, tiles - 1));
      if (k == min(1, steps - 1)) load_pairs();
    };
    const int row = at.column(tile) * N + half * N / 2;
    auto multiply = [&](auto width) {
      multiply_tile<decltype(width)::value, T, S, M, STREAM>(y, pairs_of[half], passages[half], w, x, full, empty,
                                                             block.count, half, row, height, step, steps, ahead);
    };
    // CHOICES
  }
}
