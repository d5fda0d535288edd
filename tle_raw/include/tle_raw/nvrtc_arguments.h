// What tle_raw's generated functions pass to the user's function where NVRTC compiles it: as arguments.h does for clang.
#ifndef TLE_RAW_NVRTC_ARGUMENTS_H
#define TLE_RAW_NVRTC_ARGUMENTS_H

#include <tle_raw/tile.h>

namespace tle {
namespace detail {

template <class T> struct spelling { using type = T; };
template <> struct spelling<long> { using type = long long; };
template <> struct spelling<unsigned long> { using type = unsigned long long; };
template <> struct spelling<char> { using type = signed char; };

template <class A, class B>
inline constexpr bool equal = same<typename spelling<A>::type, typename spelling<B>::type>::value;

template <class T> struct unqualified { using type = T; };
template <class T> struct unqualified<const T> { using type = T; };
template <class T> struct unqualified<volatile T> { using type = T; };
template <class T> struct unqualified<const volatile T> { using type = T; };

template <class T> struct result_value { using type = typename unqualified<T>::type; };
template <class T> struct result_value<T&> : result_value<T> {};
template <class T> struct result_value<T&&> : result_value<T> {};

template <class U, class T> using if_equal = typename require<equal<U, T>>::type;
template <class U, class T> using if_element = typename require<equal<typename unqualified<U>::type, T>>::type;

// The same bits as another type of the same size.
template <class To, class From> __device__ __forceinline__ To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "the types have one size");
  union {
    From from;
    To to;
  } both{from};
  return both.to;
}

// Scalar, or an element that is only read.
template <class T> struct value_argument {
  T value;
  template <class U, if_equal<U, T> = 0> __device__ __forceinline__ operator U() const { return U(value); }
};

// An element that the function updates: `T&` or `T*`; by value the update would be lost.
template <class T> struct element_argument {
  T& value;
  template <class U, if_equal<U, T> = 0> __device__ __forceinline__ operator U&() const {
    return reinterpret_cast<U&>(value);
  }
  template <class U, if_equal<U, T> = 0> __device__ __forceinline__ operator U*() const {
    return reinterpret_cast<U*>(&value);
  }
};

// Global memory, said so: the compiler then loads from there, and not from anywhere.
template <class T> struct pointer_argument {
  T* value;
  __device__ __forceinline__ T* data() const {
    __builtin_assume(__isGlobal(value));
    return value;
  }
  template <class U, if_element<U, T> = 0> __device__ __forceinline__ operator U*() const { return (U*)data(); }
};

template <class T, int... Dims> struct tile_argument {
  T* value;
  __device__ __forceinline__ T* data() const {
    __builtin_assume(__isShared(value));
    return (T*)__builtin_assume_aligned(value, 16);
  }
  __device__ __forceinline__ tile<T, Dims...> plain() const { return tile<T, Dims...>(data()); }
  template <class U, if_element<U, T> = 0> __device__ __forceinline__ operator U*() const { return (U*)data(); }
  template <class U, if_element<U, T> = 0> __device__ __forceinline__ operator tile<U, Dims...>() const {
    return tile<U, Dims...>((U*)data());
  }
};

}  // namespace detail
}  // namespace tle

#endif  // TLE_RAW_NVRTC_ARGUMENTS_H
