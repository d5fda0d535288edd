#pragma once
#include "api/compute/common.h"

namespace ckernel {
inline void negative_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::negative, site); }
inline void negative_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::negative, tt_sim::SfpuInit::negative, dst, {{}}, site);
}
inline void negative_tile_int32(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::negative_int, tt_sim::SfpuInit::negative, dst, {{}}, site);
}
}  // namespace ckernel
