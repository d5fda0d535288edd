#pragma once
#include "api/compute/common.h"

namespace ckernel {
// The first where the condition is not 0, else the second.
inline void where_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::where, site); }
template <DataFormat format>
inline void where_tile(uint32_t condition, uint32_t first, uint32_t second, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_ternary(tt_sim::Sfpu::where, tt_sim::SfpuInit::where, condition, first, second, out, site);
}
}  // namespace ckernel
