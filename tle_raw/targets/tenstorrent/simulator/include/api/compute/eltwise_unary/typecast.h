#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <uint32_t from, uint32_t to>
inline void typecast_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::typecast, site);
}
template <uint32_t from, uint32_t to, auto...>
inline void typecast_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::typecast(static_cast<DataFormat>(from), static_cast<DataFormat>(to), dst, site);
}
}  // namespace ckernel
