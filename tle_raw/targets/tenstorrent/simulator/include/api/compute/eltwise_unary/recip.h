#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <auto...>
inline void recip_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::recip, site);
}
#if TT_SIM_RELEASE >= 8000
template <auto...>
inline void recip_tile(uint32_t dst, VectorMode mode = VectorMode::RC, uint32_t = 0, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::recip, tt_sim::SfpuInit::recip, dst, {{}, mode}, site);
}
#else
template <auto...>
inline void recip_tile(uint32_t dst, int mode = static_cast<int>(VectorMode::RC), uint32_t = 0, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::recip, tt_sim::SfpuInit::recip, dst, {{}, static_cast<VectorMode>(mode)}, site);
}
#endif
}  // namespace ckernel
