// Philox 4x32 with ten rounds: four random words for each counter, as Triton's tl.randint4x draws them.
#ifndef TLE_PRIMITIVES_PHILOX_CUH
#define TLE_PRIMITIVES_PHILOX_CUH

#include "vectors.cuh"

namespace tle_primitives {

// The words of one counter, whose lower half is given; `seed` is the key.
__device__ inline uint4 philox(unsigned long long seed, unsigned counter) {
  unsigned a = counter, b = 0, c = 0, d = 0, key = unsigned(seed), key2 = unsigned(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned long long even = 0xD2511F53ull * a, odd = 0xCD9E8D57ull * c;
    a = unsigned(odd >> 32) ^ b ^ key, b = unsigned(odd);
    c = unsigned(even >> 32) ^ d ^ key2, d = unsigned(even);
    key += 0x9E3779B9u, key2 += 0xBB67AE85u;
  }
  return {a, b, c, d};
}

template <int WORD> __device__ inline unsigned word_of(uint4 words) {
  return WORD == 0 ? words.x : WORD == 1 ? words.y : WORD == 2 ? words.z : words.w;
}

// In (0, 1): the middle of one of 2**23 equal parts. Neither 0 nor 1, so that logarithms are finite. The bits are those
// of a number in [1, 2), from which 1 - 2**-24 is taken, exactly: a conversion takes four times as long.
__device__ inline float to_uniform(unsigned word) { return __uint_as_float(word >> 9 | 0x3F800000u) - 0x1.fffffep-1f; }

// Two numbers of a normal distribution, by Box and Muller.
__device__ inline float2 to_normal(unsigned first, unsigned second) {
  const float radius = sqrtf(-2.0f * logf(to_uniform(first)));
  float sine, cosine;
  sincospif(2.0f * to_uniform(second), &sine, &cosine);
  return {radius * cosine, radius * sine};
}

template <int WORD> __device__ unsigned random_word(unsigned long long seed, unsigned counter) {
  return word_of<WORD>(philox(seed, counter));
}

template <int WORD> __device__ float random_uniform(unsigned long long seed, unsigned counter) {
  return to_uniform(word_of<WORD>(philox(seed, counter)));
}

template <int WORD> __device__ float random_normal(unsigned long long seed, unsigned counter) {
  const uint4 words = philox(seed, counter);
  const float2 both = WORD < 2 ? to_normal(words.x, words.y) : to_normal(words.z, words.w);
  return WORD % 2 ? both.y : both.x;
}

// What four elements are made of the four words of a counter.
struct Words {
  __device__ void operator()(uint4 words, unsigned (&values)[4]) const {
    values[0] = words.x, values[1] = words.y, values[2] = words.z, values[3] = words.w;
  }
};

struct Uniform {
  template <class A> __device__ void operator()(uint4 words, A (&values)[4]) const {
    values[0] = to_uniform(words.x), values[1] = to_uniform(words.y);
    values[2] = to_uniform(words.z), values[3] = to_uniform(words.w);
  }
};

struct Normal {
  template <class A> __device__ void operator()(uint4 words, A (&values)[4]) const {
    const float2 front = to_normal(words.x, words.y), back = to_normal(words.z, words.w);
    values[0] = front.x, values[1] = front.y, values[2] = back.x, values[3] = back.y;
  }
};

// Fills a tile: element 4 i + w is made of word w of the counter first + i.
template <int THREADS, class T, int N, class Make>
__device__ void fill(unsigned long long seed, unsigned first, T* out, Make make) {
  static_assert(N % 4 == 0, "a counter makes four");
#pragma unroll 4  // counters that do not wait for one another
  for (int place = 0; place < N / 4; place += THREADS) {
    const int i = place + int(threadIdx.x);
    if (N / 4 % THREADS && i >= N / 4) return;
    computed_t<T> values[4];
    make(philox(seed, first + i), values);
    if constexpr (sizeof(T) <= 4) {
      store_vector(out + 4 * i, values);
    } else {
      for (int word = 0; word < 4; ++word) out[4 * i + word] = values[word];
    }
  }
}

// Fills n elements from `out` on, in memory of the GPU, in the same order; where WIDE with one store for four.
template <int THREADS, bool WIDE, class T, class Make>
__device__ void fill_run(unsigned long long seed, unsigned first, T* out, int n, Make make) {
  auto store = [&](int i, int count) {
    computed_t<T> values[4];
    make(philox(seed, first + i), values);
    if constexpr (WIDE) {
      if (count == 4) {
        store_vector(out + 4 * i, values);
        return;
      }
    }
    for (int word = 0; word < count; ++word) out[4 * i + word] = T(values[word]);
  };
  const int each = n / 4 / THREADS;
#pragma unroll 4  // counters that do not wait for one another
  for (int run = 0; run < each; ++run) store(run * THREADS + threadIdx.x, 4);
  const int i = each * THREADS + threadIdx.x, left = n - 4 * i;
  if (left >= 4) store(i, 4);
  if (left > 0 && left < 4) store(i, left);
}

template <int THREADS, class T, class Make>
__device__ void fill_run(unsigned long long seed, unsigned first, T* out, int n, Make make) {
  if constexpr (sizeof(T) <= 4) {
    if (reinterpret_cast<unsigned long long>(out) % (4 * sizeof(T)) == 0) {
      fill_run<THREADS, true>(seed, first, out, n, make);
      return;
    }
  }
  fill_run<THREADS, false>(seed, first, out, n, make);
}

template <int THREADS, int N> __device__ void fill_words(unsigned long long seed, unsigned first, tle::tile<unsigned, N> out) {
  fill<THREADS, unsigned, N>(seed, first, out.data(), Words());
}

template <int THREADS>
__device__ void fill_run_of_words(unsigned long long seed, unsigned first, unsigned* out, int n) {
  fill_run<THREADS>(seed, first, out, n, Words());
}

template <int THREADS, class T, int N>
__device__ void fill_uniform(unsigned long long seed, unsigned first, tle::tile<T, N> out) {
  fill<THREADS, T, N>(seed, first, out.data(), Uniform());
}

template <int THREADS, class T>
__device__ void fill_run_of_uniform(unsigned long long seed, unsigned first, T* out, int n) {
  fill_run<THREADS>(seed, first, out, n, Uniform());
}

template <int THREADS, class T, int N>
__device__ void fill_normal(unsigned long long seed, unsigned first, tle::tile<T, N> out) {
  fill<THREADS, T, N>(seed, first, out.data(), Normal());
}

template <int THREADS, class T>
__device__ void fill_run_of_normal(unsigned long long seed, unsigned first, T* out, int n) {
  fill_run<THREADS>(seed, first, out, n, Normal());
}

}  // namespace tle_primitives

#endif
