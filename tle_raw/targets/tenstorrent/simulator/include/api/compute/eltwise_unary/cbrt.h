#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <auto...>
inline void cbrt_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::cbrt, site);
}
template <auto...>
inline void cbrt_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::cbrt, tt_sim::SfpuInit::cbrt, dst, {{}}, site);
}
}  // namespace ckernel
