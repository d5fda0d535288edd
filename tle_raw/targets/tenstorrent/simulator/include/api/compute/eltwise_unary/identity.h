#pragma once
#include "api/compute/common.h"

namespace ckernel {
inline void identity_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::identity, site); }
inline void identity_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::identity, tt_sim::SfpuInit::identity, dst, {{}}, site);
}
}  // namespace ckernel
