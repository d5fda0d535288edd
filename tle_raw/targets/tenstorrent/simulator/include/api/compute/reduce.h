#pragma once
#include "api/compute/compute_kernel_hw_startup.h"

namespace ckernel {
// The packer writes only the result's column, row or element until reduce_uninit. The third template argument: the
// width of registers, or, in old releases, whether sums are forced to be wide.
template <PoolType pool, ReduceDim dim, bool = DST_ACCUM_MODE>
inline void reduce_init(uint32_t in, uint32_t scaler, uint32_t, TT_SIM_SITE) {
    tt_sim::init_reduce(pool, dim, in, scaler, site);
}
template <bool = DST_ACCUM_MODE>
inline void reduce_uninit(uint32_t = 0, TT_SIM_SITE) {
    tt_sim::uninit_reduce(site);
}
template <PoolType pool, ReduceDim dim, bool = DST_ACCUM_MODE>
inline void reduce_tile(uint32_t in, uint32_t scaler, uint32_t tile, uint32_t scaler_tile, uint32_t dst, TT_SIM_SITE) {
    tt_sim::reduce(pool, dim, in, scaler, tile, scaler_tile, dst, site);
}
}  // namespace ckernel
