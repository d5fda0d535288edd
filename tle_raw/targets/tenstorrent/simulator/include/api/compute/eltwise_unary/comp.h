#pragma once
#include "api/compute/common.h"

namespace ckernel {
inline void eqz_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::eqz, site); }
inline void eqz_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::eqz, tt_sim::SfpuInit::eqz, dst, {{}}, site);
}
inline void nez_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::nez, site); }
inline void nez_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::nez, tt_sim::SfpuInit::nez, dst, {{}}, site);
}
inline void ltz_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::ltz, site); }
inline void ltz_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::ltz, tt_sim::SfpuInit::ltz, dst, {{}}, site);
}
inline void gtz_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::gtz, site); }
inline void gtz_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::gtz, tt_sim::SfpuInit::gtz, dst, {{}}, site);
}
inline void lez_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::lez, site); }
inline void lez_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::lez, tt_sim::SfpuInit::lez, dst, {{}}, site);
}
inline void gez_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::gez, site); }
inline void gez_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::gez, tt_sim::SfpuInit::gez, dst, {{}}, site);
}
inline void unary_eq_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::eq_scalar, site); }
inline void unary_eq_tile(uint32_t dst, uint32_t scalar, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::eq_scalar, tt_sim::SfpuInit::eq_scalar, dst, {{scalar}}, site);
}
inline void unary_ne_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::ne_scalar, site); }
inline void unary_ne_tile(uint32_t dst, uint32_t scalar, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::ne_scalar, tt_sim::SfpuInit::ne_scalar, dst, {{scalar}}, site);
}
inline void unary_lt_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::lt_scalar, site); }
inline void unary_lt_tile(uint32_t dst, uint32_t scalar, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::lt_scalar, tt_sim::SfpuInit::lt_scalar, dst, {{scalar}}, site);
}
inline void unary_gt_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::gt_scalar, site); }
inline void unary_gt_tile(uint32_t dst, uint32_t scalar, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::gt_scalar, tt_sim::SfpuInit::gt_scalar, dst, {{scalar}}, site);
}
inline void unary_le_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::le_scalar, site); }
inline void unary_le_tile(uint32_t dst, uint32_t scalar, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::le_scalar, tt_sim::SfpuInit::le_scalar, dst, {{scalar}}, site);
}
inline void unary_ge_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::ge_scalar, site); }
inline void unary_ge_tile(uint32_t dst, uint32_t scalar, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::ge_scalar, tt_sim::SfpuInit::ge_scalar, dst, {{scalar}}, site);
}
}  // namespace ckernel
