// What arguments.h and nvrtc_arguments.h share: which types are one, and what a call gives. No header of the host's.
#ifndef TLE_RAW_ARGUMENT_TYPES_H
#define TLE_RAW_ARGUMENT_TYPES_H

#include <tle_raw/tile.h>

struct __half;
struct __nv_bfloat16;

namespace tle {
namespace detail {

// One type under two names: `long` and `long long`, `char` and `signed char`, the compiler's 16-bit floats.
template <class T> struct spelling { using type = T; };
template <> struct spelling<long> { using type = long long; };
template <> struct spelling<unsigned long> { using type = unsigned long long; };
template <> struct spelling<char> { using type = signed char; };
#ifdef TLE_RAW_HAS_HALF
template <> struct spelling<_Float16> { using type = __half; };
template <> struct spelling<__fp16> { using type = __half; };
#endif
#ifdef TLE_RAW_HAS_BFLOAT
template <> struct spelling<__bf16> { using type = __nv_bfloat16; };
#endif

template <class A, class B>
inline constexpr bool equal = same<typename spelling<A>::type, typename spelling<B>::type>::value;

template <class T> struct unqualified { using type = T; };
template <class T> struct unqualified<const T> { using type = T; };
template <class T> struct unqualified<volatile T> { using type = T; };
template <class T> struct unqualified<const volatile T> { using type = T; };

// What a call gives back, without its reference.
template <class T> struct result_value { using type = typename unqualified<T>::type; };
template <class T> struct result_value<T&> : result_value<T> {};
template <class T> struct result_value<T&&> : result_value<T> {};

template <class U, class T> using if_equal = typename require<equal<U, T>>::type;
template <class U, class T> using if_element = typename require<equal<typename unqualified<U>::type, T>>::type;

}  // namespace detail
}  // namespace tle

#endif  // TLE_RAW_ARGUMENT_TYPES_H
