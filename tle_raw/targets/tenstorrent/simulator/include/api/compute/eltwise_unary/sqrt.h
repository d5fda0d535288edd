#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <auto...>
inline void sqrt_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::sqrt, site);
}
template <auto...>
inline void sqrt_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::sqrt, tt_sim::SfpuInit::sqrt, dst, {{}}, site);
}
}  // namespace ckernel
