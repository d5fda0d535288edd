#pragma once
#include "api/compute/common.h"

namespace ckernel {
inline void copy_dest_values_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::copy, site); }
template <DataFormat format = DataFormat::Float16_b>
inline void copy_dest_values(uint32_t from, uint32_t to, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::copy, tt_sim::SfpuInit::copy, from, from, to, site);
}
}  // namespace ckernel
