#pragma once
#include "api/compute/common.h"

namespace ckernel {
// The scalar is given as the bits of an fp32; div_unary_tile is given the reciprocal.
inline void binop_with_scalar_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::scalar, site); }
template <auto...>
inline void add_unary_tile(uint32_t dst, uint32_t scalar, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::add_scalar, tt_sim::SfpuInit::scalar, dst, {{scalar}}, site);
}
template <auto...>
inline void sub_unary_tile(uint32_t dst, uint32_t scalar, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::sub_scalar, tt_sim::SfpuInit::scalar, dst, {{scalar}}, site);
}
template <auto...>
inline void mul_unary_tile(uint32_t dst, uint32_t scalar, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::mul_scalar, tt_sim::SfpuInit::scalar, dst, {{scalar}}, site);
}
template <auto...>
inline void div_unary_tile(uint32_t dst, uint32_t scalar, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::div_scalar, tt_sim::SfpuInit::scalar, dst, {{scalar}}, site);
}
template <auto...>
inline void rsub_unary_tile(uint32_t dst, uint32_t scalar, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::rsub_scalar, tt_sim::SfpuInit::scalar, dst, {{scalar}}, site);
}
inline void add_unary_tile_int32(uint32_t dst, uint32_t scalar, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::add_scalar_int, tt_sim::SfpuInit::scalar, dst, {{scalar}}, site);
}
inline void sub_unary_tile_int32(uint32_t dst, uint32_t scalar, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::sub_scalar_int, tt_sim::SfpuInit::scalar, dst, {{scalar}}, site);
}
}  // namespace ckernel
