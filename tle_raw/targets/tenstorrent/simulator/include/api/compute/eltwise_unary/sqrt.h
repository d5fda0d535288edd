#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <auto...>
inline void sqrt_tile_init(tt_sim::Site site = tt_sim::Site::here()) { tt_sim::sfpu_init(tt_sim::SfpuInit::sqrt, site); }
template <auto...>
inline void sqrt_tile(uint32_t dst, tt_sim::Site site = tt_sim::Site::here()) { tt_sim::sfpu(tt_sim::Sfpu::sqrt, tt_sim::SfpuInit::sqrt, dst, {{}}, site); }
}  // namespace ckernel
