// Numbers of 8 and 4 bits, two in a word: e4m3, e5m2 and e2m1, rounded to nearest even and saturated.
#ifndef TLE_PRIMITIVES_CONVERT_CUH
#define TLE_PRIMITIVES_CONVERT_CUH

#include <cuda_fp8.h>

#include "vectors.cuh"

namespace tle_primitives {

// Each format has `pack`, which makes one word of two numbers, the first one in its lower half, and `unpack`.
template <__nv_fp8_interpretation_t KIND> struct Float8 {
  static constexpr int PER_BYTE = 1;
  using Word = unsigned short;
  static __device__ Word pack(float low, float high) {
    return __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE, KIND);
  }
  static __device__ __half2 unpack(Word word) { return __half2(__nv_cvt_fp8x2_to_halfraw2(word, KIND)); }
};
using E4M3 = Float8<__NV_E4M3>;
using E5M2 = Float8<__NV_E5M2>;

// The numbers 0, 0.5, 1, 1.5, 2, 3, 4 and 6 with a sign. NaN becomes 6, as in PTX.
struct E2M1 {
  static constexpr int PER_BYTE = 2;
  using Word = unsigned char;

  static __device__ unsigned code(float value) {
    const float size = fminf(fabsf(value), 6.0f);
    // From 1 on: a number's exponent and first bit of its fraction, rounded. Below, twice the number, rounded.
    const unsigned bits = __float_as_uint(size);
    const unsigned normal = ((bits + 0x1fffffu + (bits >> 22 & 1)) >> 22) - 252;
    const unsigned small = __float_as_uint(size + 4194304.0f) & 7;
    const unsigned sign = value != value ? 0 : __float_as_uint(value) >> 28 & 8;
    return (size < 1.0f ? small : normal) | sign;
  }
  static __device__ Word pack(float low, float high) { return Word(code(low) | code(high) << 4); }
  static __device__ __half2 unpack(Word word) {
    // As float16, exponent and fraction stand for 2**14 times less, below 1 as well.
    const unsigned halves = (word & 0x08u) << 12 | (word & 0x07u) << 9 | (word & 0x80u) << 24 | (word & 0x70u) << 21;
    const __half2 scaled = from_bits<__half2>(halves);
    return __hmul2(scaled, __half2(__float2half(16384.0f), __float2half(16384.0f)));
  }
};

template <int THREADS, class Format, class T, int N, class Q, int L>
__device__ void pack_tile(tle::tile<const T, N> x, tle::tile<Q, L> out) {
  static_assert(sizeof(Q) == 1 && L * Format::PER_BYTE == N, "the numbers fill the bytes");
  using Word = typename Format::Word;
  constexpr int PEERS = least(THREADS, N / 2), SHARE = N / PEERS, COUNT = vector_of<T>(SHARE);
  constexpr int BYTES = COUNT / Format::PER_BYTE;
  if (PEERS < THREADS && threadIdx.x >= PEERS) return;
#pragma unroll
  for (int run = 0; run < SHARE / COUNT; ++run) {
    const int at = (run * PEERS + threadIdx.x) * COUNT;
    computed_t<T> values[COUNT];
    load_vector(values, x.data() + at);
    Word words[COUNT / 2];
#pragma unroll
    for (int i = 0; i < COUNT / 2; ++i) words[i] = Format::pack(float(values[2 * i]), float(values[2 * i + 1]));
    using Vector = typename word_of_size<BYTES>::type;
    Vector vector;
    memcpy(&vector, words, BYTES);
    reinterpret_cast<Vector*>(out.data())[at / COUNT] = vector;
  }
}

template <int THREADS, class Format, class T, int N, class Q, int L>
__device__ void unpack_tile(tle::tile<const Q, L> x, tle::tile<T, N> out) {
  static_assert(sizeof(Q) == 1 && L * Format::PER_BYTE == N, "the numbers fill the bytes");
  using Word = typename Format::Word;
  constexpr int PEERS = least(THREADS, N / 2), SHARE = N / PEERS, COUNT = vector_of<T>(SHARE);
  constexpr int BYTES = COUNT / Format::PER_BYTE;
  if (PEERS < THREADS && threadIdx.x >= PEERS) return;
#pragma unroll
  for (int run = 0; run < SHARE / COUNT; ++run) {
    const int at = (run * PEERS + threadIdx.x) * COUNT;
    using Vector = typename word_of_size<BYTES>::type;
    const Vector vector = reinterpret_cast<const Vector*>(x.data())[at / COUNT];
    Word words[COUNT / 2];
    memcpy(words, &vector, BYTES);
    computed_t<T> values[COUNT];
#pragma unroll
    for (int i = 0; i < COUNT / 2; ++i) {
      const float2 both = __half22float2(Format::unpack(words[i]));
      values[2 * i] = both.x, values[2 * i + 1] = both.y;
    }
    store_vector(out.data() + at, values);
  }
}

__device__ inline unsigned short pack_e4m3(float low, float high) { return E4M3::pack(low, high); }
__device__ inline float e4m3_low(unsigned short word) { return __low2float(E4M3::unpack(word)); }
__device__ inline float e4m3_high(unsigned short word) { return __high2float(E4M3::unpack(word)); }

template <int THREADS, class T, class Q, int N>
__device__ void to_e4m3(tle::tile<const T, N> x, tle::tile<Q, N> out) {
  pack_tile<THREADS, E4M3>(x, out);
}

template <int THREADS, class T, class Q, int N>
__device__ void from_e4m3(tle::tile<const Q, N> x, tle::tile<T, N> out) {
  unpack_tile<THREADS, E4M3>(x, out);
}

__device__ inline unsigned short pack_e5m2(float low, float high) { return E5M2::pack(low, high); }
__device__ inline float e5m2_low(unsigned short word) { return __low2float(E5M2::unpack(word)); }
__device__ inline float e5m2_high(unsigned short word) { return __high2float(E5M2::unpack(word)); }

template <int THREADS, class T, class Q, int N>
__device__ void to_e5m2(tle::tile<const T, N> x, tle::tile<Q, N> out) {
  pack_tile<THREADS, E5M2>(x, out);
}

template <int THREADS, class T, class Q, int N>
__device__ void from_e5m2(tle::tile<const Q, N> x, tle::tile<T, N> out) {
  unpack_tile<THREADS, E5M2>(x, out);
}

__device__ inline unsigned char pack_e2m1(float low, float high) { return E2M1::pack(low, high); }
__device__ inline float e2m1_low(unsigned char word) { return __low2float(E2M1::unpack(word)); }
__device__ inline float e2m1_high(unsigned char word) { return __high2float(E2M1::unpack(word)); }

template <int THREADS, class T, class Q, int N, int L>
__device__ void to_e2m1(tle::tile<const T, N> x, tle::tile<Q, L> out) {
  pack_tile<THREADS, E2M1>(x, out);
}

template <int THREADS, class T, class Q, int N, int L>
__device__ void from_e2m1(tle::tile<const Q, L> x, tle::tile<T, N> out) {
  unpack_tile<THREADS, E2M1>(x, out);
}

}  // namespace tle_primitives

#endif
