#pragma once
#include "api/compute/common.h"

namespace ckernel {
inline void sub_int_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::sub_int, site); }
template <DataFormat format>
inline void sub_int_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::sub_int, tt_sim::SfpuInit::sub_int, left, right, out, site);
}
inline void rsub_int_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::rsub_int, site); }
template <DataFormat format>
inline void rsub_int_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::rsub_int, tt_sim::SfpuInit::rsub_int, left, right, out, site);
}
}  // namespace ckernel
