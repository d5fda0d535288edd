#pragma once
#include "api/compute/compute_kernel_hw_startup.h"

#if TT_SIM_RELEASE < 7400
#error "this release has transpose_wh.h"
#endif

namespace ckernel {
template <bool wide = DST_ACCUM_MODE>
inline void transpose_init(uint32_t cb, TT_SIM_SITE) {
    tt_sim::init_transpose(cb, site);
}
template <bool wide = DST_ACCUM_MODE>
inline void transpose_tile(uint32_t cb, uint32_t tile, uint32_t dst, TT_SIM_SITE) {
    tt_sim::transpose(cb, tile, dst, site);
}
}  // namespace ckernel
