// What tle_raw's generated entry functions pass to the user's function: arguments that fit one type only.
//
// C++ would turn a float into an int, and a pointer into a bool, without a word. Each struct below converts to the types
// that its port can stand for and to no other, so that a wrong parameter is a compiler error. Clang only.
#ifndef TLE_RAW_ARGUMENTS_H
#define TLE_RAW_ARGUMENTS_H

#include <tle_raw/argument_types.h>

#define TLE_RAW_GLOBAL __attribute__((address_space(1)))
#define TLE_RAW_SHARED __attribute__((address_space(3)))
#define TLE_RAW_DEVICE __attribute__((device)) __attribute__((always_inline))

struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;

namespace tle {
namespace detail {

// Scalar, or an element that is only read.
template <class T> struct value_argument {
  T value;
  template <class U, if_equal<U, T> = 0> TLE_RAW_DEVICE operator U() const { return __builtin_bit_cast(U, value); }
};

// An element that the function updates: `T&` or `T*`. By value the update would be lost: that conversion is deleted,
// and, being the only one that is not const, it wins over the others where it fits.
template <class T> struct element_argument {
  T& value;
  template <class U, if_equal<U, T> = 0> operator U() = delete;
  template <class U, if_equal<U, T> = 0> TLE_RAW_DEVICE operator U&() const { return reinterpret_cast<U&>(value); }
  template <class U, if_equal<U, T> = 0> TLE_RAW_DEVICE operator U*() const { return reinterpret_cast<U*>(&value); }
};

// Bytes are what a `void*` or a pointer to any struct points to, but no 16-bit or 8-bit floats, which are structs to C++.
template <class U> inline constexpr bool opaque = same<U, void>::value || __is_class(U) || __is_union(U);
template <> inline constexpr bool opaque<__half> = false;
template <> inline constexpr bool opaque<__nv_bfloat16> = false;
template <> inline constexpr bool opaque<__nv_fp8_e4m3> = false;
template <> inline constexpr bool opaque<__nv_fp8_e5m2> = false;
template <class U, class T>
using if_opaque = typename require<same<T, unsigned char>::value && opaque<typename unqualified<U>::type>>::type;

// Global memory: `T*`, `const T*`, with or without its address space.
template <class T> struct pointer_argument {
  T TLE_RAW_GLOBAL* value;
  TLE_RAW_DEVICE T* data() const { return (T*)value; }
  template <class U, if_element<U, T> = 0> TLE_RAW_DEVICE operator U*() const { return (U*)data(); }
  template <class U, if_element<U, T> = 0> TLE_RAW_DEVICE operator U TLE_RAW_GLOBAL*() const {
    return (U TLE_RAW_GLOBAL*)value;
  }
  template <class U, if_opaque<U, T> = 0> TLE_RAW_DEVICE operator U*() const { return (U*)data(); }
};

// Global memory of which FlagTree compares the size alone: `void*`, a pointer to any struct, to a number of the size of
// `T`. What is one format of floats is no other.
template <class T> inline constexpr bool is_format = false;
template <> inline constexpr bool is_format<float> = true;
template <> inline constexpr bool is_format<double> = true;
template <> inline constexpr bool is_format<__half> = true;
template <> inline constexpr bool is_format<__nv_bfloat16> = true;
template <> inline constexpr bool is_format<__nv_fp8_e4m3> = true;
template <> inline constexpr bool is_format<__nv_fp8_e5m2> = true;
template <class U, class T, bool = opaque<U>> struct of_its_size {
  static constexpr bool value =
      equal<U, T> || (sizeof(U) == sizeof(T) && !(is_format<typename spelling<U>::type> && is_format<T>));
};
template <class U, class T> struct of_its_size<U, T, true> { static constexpr bool value = true; };
template <class U, class T>
using if_of_its_size = typename require<of_its_size<typename unqualified<U>::type, T>::value>::type;

template <class T> struct sized_pointer_argument {
  T TLE_RAW_GLOBAL* value;
  TLE_RAW_DEVICE T* data() const { return (T*)value; }
  template <class U, if_of_its_size<U, T> = 0> TLE_RAW_DEVICE operator U*() const { return (U*)data(); }
  template <class U, if_of_its_size<U, T> = 0> TLE_RAW_DEVICE operator U TLE_RAW_GLOBAL*() const {
    return (U TLE_RAW_GLOBAL*)value;
  }
};

// A tile: `tle::tile<T, ...>`, `T*`, either of const T, or a pointer with its address space.
template <class T, int... Dims> struct tile_argument {
  T TLE_RAW_SHARED* value;
  TLE_RAW_DEVICE explicit tile_argument(unsigned address) : value((T TLE_RAW_SHARED*)(unsigned long long)address) {}
  TLE_RAW_DEVICE explicit tile_argument(void* data) : value((T TLE_RAW_SHARED*)(T*)data) {}  // the CPU's teams
  TLE_RAW_DEVICE T* data() const { return (T*)__builtin_assume_aligned((T*)value, 16); }
  TLE_RAW_DEVICE tile<T, Dims...> plain() const { return tile<T, Dims...>(data()); }
  template <class U, if_element<U, T> = 0> TLE_RAW_DEVICE operator U*() const { return (U*)data(); }
  template <class U, if_element<U, T> = 0> TLE_RAW_DEVICE operator U TLE_RAW_SHARED*() const {
    return (U TLE_RAW_SHARED*)value;
  }
  template <class U, if_element<U, T> = 0> TLE_RAW_DEVICE operator tile<U, Dims...>() const {
    return tile<U, Dims...>((U*)data());
  }
};

}  // namespace detail
}  // namespace tle

#endif  // TLE_RAW_ARGUMENTS_H
