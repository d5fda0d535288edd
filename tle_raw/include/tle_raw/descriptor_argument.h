// What tle_raw's generated entry functions pass for a tensor descriptor of the kernel: see arguments.h. Clang only.
#ifndef TLE_RAW_DESCRIPTOR_ARGUMENT_H
#define TLE_RAW_DESCRIPTOR_ARGUMENT_H

#include <tle_raw/arguments.h>
#include <tle_raw/descriptor.h>

namespace tle {
namespace detail {

// `tle::descriptor<T, ...>`, or the address of the tensor map: a pointer to void or to a struct such as CUtensorMap.
template <class T, int... Dims> struct descriptor_argument {
  const void* value;
  TLE_RAW_DEVICE explicit descriptor_argument(unsigned long long address) : value((const void*)address) {}
  TLE_RAW_DEVICE explicit descriptor_argument(void* data) : value(data) {}  // the CPU's threads
  TLE_RAW_DEVICE const void* data() const { return value; }
  TLE_RAW_DEVICE descriptor<T, Dims...> plain() const { return descriptor<T, Dims...>(value); }
  TLE_RAW_DEVICE operator descriptor<T, Dims...>() const { return plain(); }
  template <class U> static constexpr bool is_map = equal<U, void> || __is_class(U);
  template <class U, typename require<is_map<typename unqualified<U>::type>>::type = 0>
  TLE_RAW_DEVICE operator const U*() const {
    return (const U*)value;
  }
};

}  // namespace detail
}  // namespace tle

#endif  // TLE_RAW_DESCRIPTOR_ARGUMENT_H
