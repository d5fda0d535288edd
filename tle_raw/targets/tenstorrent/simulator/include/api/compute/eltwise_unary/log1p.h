#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <auto...>
inline void log1p_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::log1p, site);
}
template <auto...>
inline void log1p_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::log1p, tt_sim::SfpuInit::log1p, dst, {{}}, site);
}
}  // namespace ckernel
