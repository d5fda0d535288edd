// In the place of Thrust's header of this name: the type of its values, where a program of blocks names no Thrust.
//
// CCCL 3.0's headers for blocks ask whether an iterator's values are of that type, and no more.
#ifndef TLE_RAW_DISCARD_ITERATOR
#define TLE_RAW_DISCARD_ITERATOR
#include <thrust/iterator/detail/any_assign.h>

#include <cuda/type_traits>  // which CUB's find by way of Thrust's
THRUST_NAMESPACE_BEGIN
template <class System = void>
struct discard_iterator {
  using value_type = detail::any_assign;
};
THRUST_NAMESPACE_END
#endif
