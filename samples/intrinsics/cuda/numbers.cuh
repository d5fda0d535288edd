// The number types of tle_primitives: what they are summed in, their order as unsigned bits, the operators.
#ifndef TLE_PRIMITIVES_NUMBERS_CUH
#define TLE_PRIMITIVES_NUMBERS_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <tle_raw/tile.h>

namespace tle_primitives {

constexpr unsigned WARP = 0xffffffffu;  // all lanes take part

__device__ inline int lane_index() { return threadIdx.x % 32; }
__device__ inline int warp_index() { return threadIdx.x / 32; }

constexpr int log2_of(int value) { return value <= 1 ? 0 : 1 + log2_of(value / 2); }
constexpr int least(int a, int b) { return a < b ? a : b; }
constexpr int most(int a, int b) { return a > b ? a : b; }

// What numbers of a type are computed in. Integers wrap around, so a narrow one may be kept in 32 bits.
template <class T> struct computed { using type = T; };
template <> struct computed<signed char> { using type = int; };
template <> struct computed<short> { using type = int; };
template <> struct computed<unsigned char> { using type = unsigned; };
template <> struct computed<unsigned short> { using type = unsigned; };
template <> struct computed<__half> { using type = float; };
template <> struct computed<__nv_bfloat16> { using type = float; };
template <class T> using computed_t = typename computed<T>::type;

template <class A, class B> constexpr bool is_same = false;
template <class A> constexpr bool is_same<A, A> = true;

template <int BYTES> struct bits_of_size;
template <> struct bits_of_size<1> { using type = unsigned char; };
template <> struct bits_of_size<2> { using type = unsigned short; };
template <> struct bits_of_size<4> { using type = unsigned; };
template <> struct bits_of_size<8> { using type = unsigned long long; };
template <class T> using bits_t = typename bits_of_size<sizeof(T)>::type;

template <class T> constexpr bool is_float = false;
template <> constexpr bool is_float<__half> = true;
template <> constexpr bool is_float<__nv_bfloat16> = true;
template <> constexpr bool is_float<float> = true;
template <> constexpr bool is_float<double> = true;

template <class T> constexpr bool is_signed = is_float<T>;
template <> constexpr bool is_signed<signed char> = true;
template <> constexpr bool is_signed<short> = true;
template <> constexpr bool is_signed<int> = true;
template <> constexpr bool is_signed<long long> = true;

template <class T> __device__ inline bits_t<T> bits_from(T value) {
  bits_t<T> bits;
  memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class T> __device__ inline T from_bits(bits_t<T> bits) {
  T value;
  memcpy(&value, &bits, sizeof(T));
  return value;
}

// Unsigned bits in the order of the numbers: of floats -NaN < -inf < ... < -0 < +0 < ... < inf < NaN.
template <class T> __device__ inline bits_t<T> to_ordered(bits_t<T> bits) {
  using U = bits_t<T>;
  constexpr U TOP = U(1) << (8 * sizeof(T) - 1);
  if constexpr (is_float<T>)
    return bits ^ (bits & TOP ? U(~U(0)) : TOP);
  else
    return is_signed<T> ? bits ^ TOP : bits;
}

template <class T> __device__ inline bits_t<T> from_ordered(bits_t<T> bits) {
  using U = bits_t<T>;
  constexpr U TOP = U(1) << (8 * sizeof(T) - 1);
  if constexpr (is_float<T>)
    return bits ^ (bits & TOP ? TOP : U(~U(0)));
  else
    return is_signed<T> ? bits ^ TOP : bits;
}

// The least and the greatest number of a type; of floats the infinities.
template <class T> __device__ inline T lowest_of() {
  if constexpr (is_float<T>)
    return T(-__builtin_huge_valf());
  else if constexpr (is_signed<T>)
    return T(bits_t<T>(1) << (8 * sizeof(T) - 1));
  else
    return T(0);
}

template <class T> __device__ inline T highest_of() {
  if constexpr (is_float<T>)
    return T(__builtin_huge_valf());
  else
    return T(~lowest_of<T>());
}

// Operators. `none` changes nothing: T is the tile's type, and A what it is computed in. NaNs lose against numbers.
struct Sum {
  template <class T> static __device__ computed_t<T> none() { return computed_t<T>(0); }
  template <class A> __device__ A operator()(A a, A b) const { return a + b; }
};

struct Max {
  template <class T> static __device__ computed_t<T> none() { return computed_t<T>(lowest_of<T>()); }
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
  __device__ double operator()(double a, double b) const { return fmax(a, b); }
  template <class A> __device__ A operator()(A a, A b) const { return a < b ? b : a; }
};

struct Min {
  template <class T> static __device__ computed_t<T> none() { return computed_t<T>(highest_of<T>()); }
  __device__ float operator()(float a, float b) const { return fminf(a, b); }
  __device__ double operator()(double a, double b) const { return fmin(a, b); }
  template <class A> __device__ A operator()(A a, A b) const { return b < a ? b : a; }
};

}  // namespace tle_primitives

#endif
