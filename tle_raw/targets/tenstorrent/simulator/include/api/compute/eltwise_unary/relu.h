#pragma once
#include "api/compute/common.h"

namespace ckernel {
inline void relu_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::relu, site); }
inline void relu_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::relu, tt_sim::SfpuInit::relu, dst, {{}}, site);
}
inline void relu_max_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::relu_max, site); }
inline void relu_max_tile(uint32_t dst, uint32_t word0, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::relu_max, tt_sim::SfpuInit::relu_max, dst, {{word0}}, site);
}
inline void relu_min_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::relu, site); }
inline void relu_min_tile(uint32_t dst, uint32_t word0, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::relu_min, tt_sim::SfpuInit::relu, dst, {{word0}}, site);
}
inline void leaky_relu_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::leaky_relu, site); }
inline void leaky_relu_tile(uint32_t dst, uint32_t word0, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::leaky_relu, tt_sim::SfpuInit::leaky_relu, dst, {{word0}}, site);
}
inline void relu_tile_int32(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::relu_int, tt_sim::SfpuInit::relu, dst, {}, site);
}
}  // namespace ckernel
