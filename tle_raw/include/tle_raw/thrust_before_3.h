// Bases of functors that Thrust had before version 3, for programs of that time.
#ifndef TLE_RAW_THRUST_BEFORE_3_H
#define TLE_RAW_THRUST_BEFORE_3_H

#include <thrust/detail/config.h>
#include <thrust/version.h>

#if THRUST_MAJOR_VERSION >= 3
THRUST_NAMESPACE_BEGIN
template <class Argument, class Result>
struct unary_function {
  using argument_type = Argument;
  using result_type = Result;
};
template <class First, class Second, class Result>
struct binary_function {
  using first_argument_type = First;
  using second_argument_type = Second;
  using result_type = Result;
};
THRUST_NAMESPACE_END
#endif

#endif  // TLE_RAW_THRUST_BEFORE_3_H
