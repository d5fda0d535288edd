#pragma once
#include "api/compute/compute_kernel_hw_startup.h"

namespace ckernel {
inline void untilize_init(uint32_t in, TT_SIM_SITE) { tt_sim::init_untilize(in, site); }
template <uint32_t block = 1>
inline void untilize_block(uint32_t in, uint32_t width, uint32_t out, TT_SIM_SITE) {
    tt_sim::untilize(in, width, out, site);
}
inline void untilize_uninit(uint32_t, TT_SIM_SITE) { tt_sim::uninit_untilize(site); }
}  // namespace ckernel
