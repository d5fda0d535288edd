#pragma once
#include "api/compute/common.h"

namespace ckernel {
inline void elu_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::elu, site); }
inline void elu_tile(uint32_t dst, uint32_t word0, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::elu, tt_sim::SfpuInit::elu, dst, {{word0}}, site);
}
}  // namespace ckernel
