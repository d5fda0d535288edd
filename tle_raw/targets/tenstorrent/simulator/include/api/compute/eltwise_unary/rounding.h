#pragma once
#include "api/compute/common.h"

namespace ckernel {
inline void rounding_op_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::rounding, site); }
inline void ceil_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::ceil, tt_sim::SfpuInit::rounding, dst, {{}}, site);
}
inline void floor_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::floor, tt_sim::SfpuInit::rounding, dst, {{}}, site);
}
inline void trunc_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::trunc, tt_sim::SfpuInit::rounding, dst, {{}}, site);
}
inline void frac_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::frac, tt_sim::SfpuInit::rounding, dst, {{}}, site);
}
}  // namespace ckernel
