#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <auto...>
inline void softplus_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::softplus, site);
}
template <auto...>
inline void softplus_tile(uint32_t dst, uint32_t word0, uint32_t word1, uint32_t word2, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::softplus, tt_sim::SfpuInit::softplus, dst, {{word0, word1, word2}}, site);
}
}  // namespace ckernel
