#pragma once
#include "api/compute/common.h"

namespace ckernel {
// Of two registers into a third.
inline void add_binary_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::add, site); }
inline void add_binary_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::add, tt_sim::SfpuInit::add, left, right, out, site);
}
inline void sub_binary_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::sub, site); }
inline void sub_binary_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::sub, tt_sim::SfpuInit::sub, left, right, out, site);
}
inline void mul_binary_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::mul, site); }
inline void mul_binary_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::mul, tt_sim::SfpuInit::mul, left, right, out, site);
}
inline void div_binary_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::div, site); }
inline void div_binary_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::div, tt_sim::SfpuInit::div, left, right, out, site);
}
inline void rsub_binary_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::rsub, site); }
inline void rsub_binary_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::rsub, tt_sim::SfpuInit::rsub, left, right, out, site);
}
inline void eq_binary_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::eq, site); }
inline void eq_binary_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::eq, tt_sim::SfpuInit::eq, left, right, out, site);
}
inline void ne_binary_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::ne, site); }
inline void ne_binary_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::ne, tt_sim::SfpuInit::ne, left, right, out, site);
}
inline void lt_binary_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::lt, site); }
inline void lt_binary_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::lt, tt_sim::SfpuInit::lt, left, right, out, site);
}
inline void gt_binary_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::gt, site); }
inline void gt_binary_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::gt, tt_sim::SfpuInit::gt, left, right, out, site);
}
inline void le_binary_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::le, site); }
inline void le_binary_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::le, tt_sim::SfpuInit::le, left, right, out, site);
}
inline void ge_binary_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::ge, site); }
inline void ge_binary_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::ge, tt_sim::SfpuInit::ge, left, right, out, site);
}
inline void power_binary_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::pow, site); }
inline void power_binary_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::pow, tt_sim::SfpuInit::pow, left, right, out, site);
}
}  // namespace ckernel
