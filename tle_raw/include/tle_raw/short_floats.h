// Functions of two numbers where one or both are of a class that converts to float, such as c10::Half: in float, as
// nvcc computes them. clang's header has a template for whatever has std::numeric_limits, which is double. Clang only.
#ifndef TLE_RAW_SHORT_FLOATS_H
#define TLE_RAW_SHORT_FLOATS_H

#if defined(__clang__) && defined(__CUDA__) && defined(__CUDA_ARCH__)

namespace tle_raw_detail {
template <class T, bool = __is_class(T)> constexpr bool is_short_float = false;
template <class T> constexpr bool is_short_float<T, true> = sizeof(T) < sizeof(float) && __is_convertible(T, float);
template <bool, class T> struct if_short {};
template <class T> struct if_short<true, T> { using type = T; };
}  // namespace tle_raw_detail

#define TLE_RAW_SHORT_FLOATS(NAME)                                                                              \
  template <class T>                                                                                            \
  static inline __attribute__((device)) __attribute__((always_inline))                                          \
  typename tle_raw_detail::if_short<tle_raw_detail::is_short_float<T>, float>::type NAME(float x, T y) {        \
    return ::NAME(x, (float)y);                                                                                 \
  }                                                                                                             \
  template <class T>                                                                                            \
  static inline __attribute__((device)) __attribute__((always_inline))                                          \
  typename tle_raw_detail::if_short<tle_raw_detail::is_short_float<T>, float>::type NAME(T x, float y) {        \
    return ::NAME((float)x, y);                                                                                 \
  }                                                                                                             \
  template <class T>                                                                                            \
  static inline __attribute__((device)) __attribute__((always_inline))                                          \
  typename tle_raw_detail::if_short<tle_raw_detail::is_short_float<T>, float>::type NAME(T x, T y) {            \
    return ::NAME((float)x, (float)y);                                                                          \
  }
TLE_RAW_SHORT_FLOATS(fmin)
TLE_RAW_SHORT_FLOATS(fmax)
TLE_RAW_SHORT_FLOATS(fmod)
TLE_RAW_SHORT_FLOATS(pow)
TLE_RAW_SHORT_FLOATS(atan2)
TLE_RAW_SHORT_FLOATS(copysign)
TLE_RAW_SHORT_FLOATS(fdim)
TLE_RAW_SHORT_FLOATS(hypot)
TLE_RAW_SHORT_FLOATS(remainder)
#undef TLE_RAW_SHORT_FLOATS

#endif
#endif
