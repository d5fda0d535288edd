#pragma once
#include "api/compute/common.h"

namespace ckernel {
inline void clamp_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::clamp, site); }
inline void clamp_tile(uint32_t dst, uint32_t word0, uint32_t word1, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::clamp, tt_sim::SfpuInit::clamp, dst, {{word0, word1}}, site);
}
}  // namespace ckernel
