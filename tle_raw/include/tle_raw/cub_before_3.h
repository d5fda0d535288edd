// Functors that CUB had before version 3, for programs of that time.
#ifndef TLE_RAW_CUB_BEFORE_3_H
#define TLE_RAW_CUB_BEFORE_3_H

#include <cub/config.cuh>
#include <cub/version.cuh>

#if CUB_MAJOR_VERSION >= 3
#define TLE_RAW_FUNCTOR(NAME, RESULT, VALUE)                          \
  struct NAME {                                                       \
    template <class A, class B>                                       \
    __host__ __device__ RESULT operator()(const A& a, const B& b) const { \
      return VALUE;                                                   \
    }                                                                 \
  };
CUB_NAMESPACE_BEGIN
TLE_RAW_FUNCTOR(Sum, auto, a + b)
TLE_RAW_FUNCTOR(Difference, auto, a - b)
TLE_RAW_FUNCTOR(Division, auto, a / b)
TLE_RAW_FUNCTOR(Equality, bool, a == b)
TLE_RAW_FUNCTOR(Inequality, bool, a != b)
TLE_RAW_FUNCTOR(Max, auto, b < a ? a : b)
TLE_RAW_FUNCTOR(Min, auto, b < a ? b : a)
CUB_NAMESPACE_END
#undef TLE_RAW_FUNCTOR
#endif

#endif  // TLE_RAW_CUB_BEFORE_3_H
