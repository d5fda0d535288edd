#pragma once
#include "api/compute/common.h"

namespace ckernel {
inline void fill_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::fill, site); }
inline void fill_tile(uint32_t dst, float value, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::fill, tt_sim::SfpuInit::fill, dst, {{__builtin_bit_cast(uint32_t, value)}}, site);
}
template <DataFormat format>
inline void fill_tile_int(uint32_t dst, uint32_t value, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::fill_bits, tt_sim::SfpuInit::fill, dst, {{value, 1}}, site);
}
inline void fill_tile_bitcast(uint32_t dst, uint32_t bits, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::fill_bits, tt_sim::SfpuInit::fill, dst, {{bits, 0}}, site);
}
}  // namespace ckernel
