#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <auto...>
inline void rsqrt_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::rsqrt, site);
}
template <auto...>
inline void rsqrt_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::rsqrt, tt_sim::SfpuInit::rsqrt, dst, {{}}, site);
}
}  // namespace ckernel
