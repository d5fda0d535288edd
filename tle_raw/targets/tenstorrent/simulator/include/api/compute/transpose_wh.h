// Releases up to 0.72.0.
#pragma once
#include "api/compute/compute_kernel_hw_startup.h"

#if TT_SIM_RELEASE >= 7400
#error "this release has transpose.h"
#endif

namespace ckernel {
inline void transpose_wh_init(uint32_t cb, uint32_t out, TT_SIM_SITE) {
    tt_sim::start_hardware(cb, cb, out, true, site);
    tt_sim::init_transpose(cb, site);
}
inline void transpose_wh_init_short(uint32_t cb, TT_SIM_SITE) { tt_sim::init_transpose(cb, site); }
inline void transpose_wh_tile(uint32_t cb, uint32_t tile, uint32_t dst, TT_SIM_SITE) {
    tt_sim::transpose(cb, tile, dst, site);
}
}  // namespace ckernel
