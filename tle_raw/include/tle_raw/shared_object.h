// Shared memory for an object whose type has a constructor, which nobody calls: as nvcc has it, the program makes it.
#ifndef TLE_RAW_SHARED_OBJECT_H
#define TLE_RAW_SHARED_OBJECT_H

namespace tle {
namespace detail {

template <class T> struct shared_object {
  alignas(T) unsigned char bytes[sizeof(T)];
  __attribute__((device)) __attribute__((always_inline)) T& object() { return reinterpret_cast<T&>(bytes); }
};

}  // namespace detail
}  // namespace tle

#endif  // TLE_RAW_SHARED_OBJECT_H
