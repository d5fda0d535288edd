#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <auto...>
inline void erf_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::erf, site);
}
template <auto...>
inline void erf_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::erf, tt_sim::SfpuInit::erf, dst, {{}}, site);
}
template <auto...>
inline void erfc_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::erfc, site);
}
template <auto...>
inline void erfc_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::erfc, tt_sim::SfpuInit::erfc, dst, {{}}, site);
}
}  // namespace ckernel
