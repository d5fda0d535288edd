// Boost's numbers of enumerations step to the one before and the one behind, which an enumeration need not have: newer
// compilers than those releases of Boost refuse the cast in a constant, and a copy of the bits is none.
#ifndef TLE_RAW_BOOST_BEFORE_1_81_H
#define TLE_RAW_BOOST_BEFORE_1_81_H

#if __has_include(<boost/mpl/aux_/static_cast.hpp>)
#include <boost/mpl/aux_/static_cast.hpp>

namespace tle_raw_boost {

template <class T, bool = __is_enum(T)> struct step {
  template <class V> static constexpr V of(V value) { return value; }
};
template <class T> struct step<T, true> {
  template <class V> static constexpr T of(V value) {
    return __builtin_bit_cast(T, static_cast<__underlying_type(T)>(value));
  }
};
template <class T> struct step<T*, false> {
  static constexpr T* of(T* pointer) { return pointer; }
};

}  // namespace tle_raw_boost

#undef BOOST_MPL_AUX_STATIC_CAST
#define BOOST_MPL_AUX_STATIC_CAST(T, value) static_cast<T>(::tle_raw_boost::step<T>::of(value))
#endif

#endif  // TLE_RAW_BOOST_BEFORE_1_81_H
