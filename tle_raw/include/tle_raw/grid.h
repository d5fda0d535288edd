// blockIdx and gridDim of a kernel whose caller says where they come from.
//
// Set TLE_RAW_AXIS_blockIdx_x and the five others before including this header: each is an expression. Both names become
// macros, as in block.h. tle_raw_grid_… stand for values that the call passes; they are gone before anything is linked.
#ifndef TLE_RAW_GRID_H
#define TLE_RAW_GRID_H

#define TLE_RAW_GIVEN(name) extern "C" __attribute__((device)) __attribute__((const)) unsigned tle_raw_grid_##name(void);
TLE_RAW_GIVEN(blockIdx_x)
TLE_RAW_GIVEN(blockIdx_y)
TLE_RAW_GIVEN(blockIdx_z)
TLE_RAW_GIVEN(gridDim_x)
TLE_RAW_GIVEN(gridDim_y)
TLE_RAW_GIVEN(gridDim_z)
#undef TLE_RAW_GIVEN

#define TLE_RAW_INLINE static inline __attribute__((device)) __attribute__((always_inline))
#define TLE_RAW_PROPERTY(variable, axis)              \
  __declspec(property(get = read_##axis)) unsigned axis; \
  TLE_RAW_INLINE unsigned read_##axis() { return TLE_RAW_AXIS_##variable##_##axis; }
#define TLE_RAW_VARIABLE(variable)                                                                        \
  TLE_RAW_PROPERTY(variable, x)                                                                           \
  TLE_RAW_PROPERTY(variable, y)                                                                           \
  TLE_RAW_PROPERTY(variable, z)                                                                           \
  inline __attribute__((device)) __attribute__((always_inline)) operator uint3() const {                  \
    return uint3{read_x(), read_y(), read_z()};                                                           \
  }                                                                                                       \
  inline __attribute__((device)) __attribute__((always_inline)) operator dim3() const {                   \
    return dim3(read_x(), read_y(), read_z());                                                            \
  }

namespace tle {
namespace detail {

struct grid_index { TLE_RAW_VARIABLE(blockIdx) };
struct grid_shape { TLE_RAW_VARIABLE(gridDim) };

}  // namespace detail
}  // namespace tle

// Declared and never defined, as in block.h.
extern const __attribute__((device)) __attribute__((weak)) tle::detail::grid_index tle_raw_blockIdx;
extern const __attribute__((device)) __attribute__((weak)) tle::detail::grid_shape tle_raw_gridDim;

#undef TLE_RAW_VARIABLE
#undef TLE_RAW_PROPERTY
#undef TLE_RAW_INLINE
#define blockIdx tle_raw_blockIdx
#define gridDim tle_raw_gridDim

#endif  // TLE_RAW_GRID_H
