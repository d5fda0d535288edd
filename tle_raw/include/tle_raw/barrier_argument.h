// What tle_raw's generated entry functions pass for a barrier of the kernel: see arguments.h. Clang only.
#ifndef TLE_RAW_BARRIER_ARGUMENT_H
#define TLE_RAW_BARRIER_ARGUMENT_H

#include <tle_raw/arguments.h>
#include <tle_raw/barrier.h>

namespace tle {
namespace detail {

// `tle::barrier`, or a pointer to the eight bytes: an integer of 64 bits, or a struct of that size such as CUTLASS's.
// `First` is the use that waits for the first phase.
template <int First> struct barrier_argument {
  using word = unsigned long long;
  word TLE_RAW_SHARED* value;
  TLE_RAW_DEVICE explicit barrier_argument(unsigned address) : value((word TLE_RAW_SHARED*)(unsigned long long)address) {}
  TLE_RAW_DEVICE explicit barrier_argument(void* data) : value((word TLE_RAW_SHARED*)(word*)data) {}  // the CPU's threads
  TLE_RAW_DEVICE word* data() const { return (word*)__builtin_assume_aligned((word*)value, 8); }
  TLE_RAW_DEVICE barrier plain() const { return barrier(data(), First); }
  TLE_RAW_DEVICE operator barrier() const { return plain(); }
  template <class U> static constexpr bool is_word = equal<U, word> || equal<U, long long> || __is_class(U);
  template <class U, typename require<is_word<typename unqualified<U>::type>>::type = 0> TLE_RAW_DEVICE operator U*() const {
    static_assert(sizeof(U) == 8, "a barrier has eight bytes");
    return (U*)data();
  }
};

}  // namespace detail
}  // namespace tle

#endif  // TLE_RAW_BARRIER_ARGUMENT_H
