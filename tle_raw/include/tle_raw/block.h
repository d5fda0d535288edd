// threadIdx and blockDim of a 2-D or 3-D block, for code inside a Triton kernel, whose blocks have one dim.
//
// Set TLE_RAW_BLOCK_X, _Y and _Z before including this header. Both names become macros; the objects behind them are
// computed from the linear thread index, with blockDim known at compile time. Clang only.
#ifndef TLE_RAW_BLOCK_H
#define TLE_RAW_BLOCK_H

#define TLE_RAW_PROPERTY(axis, expression)                                       \
  __declspec(property(get = read_##axis)) unsigned axis;                         \
  static inline __attribute__((device)) __attribute__((always_inline)) unsigned read_##axis() { return expression; }

namespace tle {
namespace detail {

struct block_index {
  TLE_RAW_PROPERTY(x, __nvvm_read_ptx_sreg_tid_x() % TLE_RAW_BLOCK_X)
  TLE_RAW_PROPERTY(y, __nvvm_read_ptx_sreg_tid_x() / TLE_RAW_BLOCK_X % TLE_RAW_BLOCK_Y)
  TLE_RAW_PROPERTY(z, __nvvm_read_ptx_sreg_tid_x() / (TLE_RAW_BLOCK_X * TLE_RAW_BLOCK_Y))
  inline __attribute__((device)) __attribute__((always_inline)) operator uint3() const {
    return uint3{read_x(), read_y(), read_z()};
  }
  inline __attribute__((device)) __attribute__((always_inline)) operator dim3() const {
    return dim3(read_x(), read_y(), read_z());
  }
};

struct block_shape {
  TLE_RAW_PROPERTY(x, TLE_RAW_BLOCK_X)
  TLE_RAW_PROPERTY(y, TLE_RAW_BLOCK_Y)
  TLE_RAW_PROPERTY(z, TLE_RAW_BLOCK_Z)
  inline __attribute__((device)) __attribute__((always_inline)) operator dim3() const {
    return dim3(TLE_RAW_BLOCK_X, TLE_RAW_BLOCK_Y, TLE_RAW_BLOCK_Z);
  }
  inline __attribute__((device)) __attribute__((always_inline)) operator uint3() const {
    return uint3{TLE_RAW_BLOCK_X, TLE_RAW_BLOCK_Y, TLE_RAW_BLOCK_Z};
  }
};

}  // namespace detail
}  // namespace tle

// Declared and never defined, as clang's own threadIdx is: every use becomes a call of a property.
extern const __attribute__((device)) __attribute__((weak)) tle::detail::block_index tle_raw_threadIdx;
extern const __attribute__((device)) __attribute__((weak)) tle::detail::block_shape tle_raw_blockDim;

#undef TLE_RAW_PROPERTY
#define threadIdx tle_raw_threadIdx
#define blockDim tle_raw_blockDim

#endif  // TLE_RAW_BLOCK_H
