#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <auto...>
inline void logical_not_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::logical_not, site);
}
template <auto...>
inline void logical_not_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::logical_not, tt_sim::SfpuInit::logical_not, dst, {{}}, site);
}
}  // namespace ckernel
