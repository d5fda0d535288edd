// Integers of two registers: 1 or 0 into a third.
#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <DataFormat format>
inline void eq_int_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::eq_int, site);
}
template <DataFormat format>
inline void eq_int_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::eq_int, tt_sim::SfpuInit::eq_int, left, right, out, site);
}
template <DataFormat format>
inline void ne_int_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::ne_int, site);
}
template <DataFormat format>
inline void ne_int_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::ne_int, tt_sim::SfpuInit::ne_int, left, right, out, site);
}
template <DataFormat format>
inline void lt_int_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::lt_int, site);
}
template <DataFormat format>
inline void lt_int_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::lt_int, tt_sim::SfpuInit::lt_int, left, right, out, site);
}
template <DataFormat format>
inline void gt_int_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::gt_int, site);
}
template <DataFormat format>
inline void gt_int_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::gt_int, tt_sim::SfpuInit::gt_int, left, right, out, site);
}
template <DataFormat format>
inline void le_int_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::le_int, site);
}
template <DataFormat format>
inline void le_int_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::le_int, tt_sim::SfpuInit::le_int, left, right, out, site);
}
template <DataFormat format>
inline void ge_int_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::ge_int, site);
}
template <DataFormat format>
inline void ge_int_tile(uint32_t left, uint32_t right, uint32_t out, TT_SIM_SITE) {
    tt_sim::sfpu_binary(tt_sim::Sfpu::ge_int, tt_sim::SfpuInit::ge_int, left, right, out, site);
}
}  // namespace ckernel
