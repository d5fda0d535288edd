#pragma once
#include "api/compute/common.h"

namespace ckernel {
inline void copy_dest_values_init(tt_sim::Site site = tt_sim::Site::here()) { tt_sim::sfpu_init(tt_sim::SfpuInit::copy, site); }
template <DataFormat format = DataFormat::Float16_b>
inline void copy_dest_values(uint32_t from, uint32_t to, tt_sim::Site site = tt_sim::Site::here()) { tt_sim::sfpu_binary(tt_sim::Sfpu::copy, tt_sim::SfpuInit::copy, from, from, to, site); }
}  // namespace ckernel
