#pragma once
#include "api/compute/common.h"

namespace ckernel {
inline void identity_tile_init(tt_sim::Site site = tt_sim::Site::here()) { tt_sim::sfpu_init(tt_sim::SfpuInit::identity, site); }
inline void identity_tile(uint32_t dst, tt_sim::Site site = tt_sim::Site::here()) { tt_sim::sfpu(tt_sim::Sfpu::identity, tt_sim::SfpuInit::identity, dst, {{}}, site); }
}  // namespace ckernel
