#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <DataFormat format>
inline void mul_int_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::mul_int, site);
}
template <DataFormat format>
inline void mul_int_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::mul_int, tt_sim::SfpuInit::mul_int, left, right, out, site);
}
}  // namespace ckernel
