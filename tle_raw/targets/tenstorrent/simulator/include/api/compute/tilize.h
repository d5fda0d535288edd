#pragma once
#include "api/compute/compute_kernel_hw_startup.h"

namespace ckernel {
inline void tilize_init(uint32_t in, uint32_t block, uint32_t out, TT_SIM_SITE) {
    tt_sim::init_tilize(in, block, out, site);
}
inline void tilize_block(uint32_t in, uint32_t block, uint32_t out, TT_SIM_SITE) {
    tt_sim::tilize(in, block, out, site);
}
inline void tilize_uninit(uint32_t, uint32_t, TT_SIM_SITE) { tt_sim::uninit_tilize(site); }
}  // namespace ckernel
