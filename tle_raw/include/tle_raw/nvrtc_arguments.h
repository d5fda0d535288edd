// What tle_raw's generated functions pass to the user's function where NVRTC compiles it: as arguments.h does for clang.
#ifndef TLE_RAW_NVRTC_ARGUMENTS_H
#define TLE_RAW_NVRTC_ARGUMENTS_H

#include <tle_raw/argument_types.h>

namespace tle {
namespace detail {

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
