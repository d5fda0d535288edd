#pragma once
#include "api/compute/common.h"

namespace ckernel {
inline void binary_max_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::max, site); }
template <typename Mode = VectorMode>
inline void binary_max_tile(uint32_t left, uint32_t right, uint32_t out, Mode = {}, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::max, tt_sim::SfpuInit::max, left, right, out, site);
}
inline void binary_max_int32_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::max_int, site); }
inline void binary_max_int32_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::max_int, tt_sim::SfpuInit::max_int, left, right, out, site);
}
inline void binary_min_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::min, site); }
template <typename Mode = VectorMode>
inline void binary_min_tile(uint32_t left, uint32_t right, uint32_t out, Mode = {}, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::min, tt_sim::SfpuInit::min, left, right, out, site);
}
inline void binary_min_int32_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::min_int, site); }
inline void binary_min_int32_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::min_int, tt_sim::SfpuInit::min_int, left, right, out, site);
}
}  // namespace ckernel
