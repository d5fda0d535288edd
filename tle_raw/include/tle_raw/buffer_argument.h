// What tle_raw's generated entry functions pass for a shared buffer of any layout: see arguments.h. Clang only.
#ifndef TLE_RAW_BUFFER_ARGUMENT_H
#define TLE_RAW_BUFFER_ARGUMENT_H

#include <tle_raw/arguments.h>
#include <tle_raw/buffer.h>

namespace tle {
namespace detail {

// `tle::buffer<T, Layout, ...>`, also of const T.
template <class T, class Layout, int... Dims> struct buffer_argument {
  T TLE_RAW_SHARED* value;
  TLE_RAW_DEVICE explicit buffer_argument(unsigned address) : value((T TLE_RAW_SHARED*)(unsigned long long)address) {}
  TLE_RAW_DEVICE explicit buffer_argument(void* data) : value((T TLE_RAW_SHARED*)(T*)data) {}  // the CPU's threads
  TLE_RAW_DEVICE T* data() const { return (T*)__builtin_assume_aligned((T*)value, 16); }
  TLE_RAW_DEVICE buffer<T, Layout, Dims...> plain() const { return buffer<T, Layout, Dims...>(data()); }
  template <class U, if_element<U, T> = 0> TLE_RAW_DEVICE operator buffer<U, Layout, Dims...>() const {
    return buffer<U, Layout, Dims...>((U*)data());
  }
};

}  // namespace detail
}  // namespace tle

#endif  // TLE_RAW_BUFFER_ARGUMENT_H
