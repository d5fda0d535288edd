#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <auto...>
inline void sigmoid_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::sigmoid, site);
}
template <auto...>
inline void sigmoid_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::sigmoid, tt_sim::SfpuInit::sigmoid, dst, {{}}, site);
}
template <auto...>
inline void silu_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::silu, site);
}
template <auto...>
inline void silu_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::silu, tt_sim::SfpuInit::silu, dst, {{}}, site);
}
template <auto...>
inline void tanh_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::tanh, site);
}
template <auto...>
inline void tanh_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::tanh, tt_sim::SfpuInit::tanh, dst, {{}}, site);
}
template <auto...>
inline void log_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::log, site);
}
template <auto...>
inline void log_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::log, tt_sim::SfpuInit::log, dst, {{}}, site);
}
template <auto...>
inline void expm1_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::expm1, site);
}
template <auto...>
inline void expm1_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::expm1, tt_sim::SfpuInit::expm1, dst, {{}}, site);
}
inline void square_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::square, site); }
inline void square_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::square, tt_sim::SfpuInit::square, dst, {{}}, site);
}
inline void abs_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::abs, site); }
inline void abs_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::abs, tt_sim::SfpuInit::abs, dst, {{}}, site);
}
inline void sign_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::sign, site); }
inline void sign_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::sign, tt_sim::SfpuInit::sign, dst, {{}}, site);
}
inline void exp2_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::exp2, site); }
inline void exp2_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::exp2, tt_sim::SfpuInit::exp2, dst, {{}}, site);
}
template <auto...>
inline void power_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::power, site);
}
template <auto...>
inline void power_tile(uint32_t dst, uint32_t word0, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::power, tt_sim::SfpuInit::power, dst, {{word0}}, site);
}
inline void unary_max_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::max_scalar, site); }
inline void unary_max_tile(uint32_t dst, uint32_t scalar, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::max_scalar, tt_sim::SfpuInit::max_scalar, dst, {{scalar}}, site);
}
inline void unary_min_tile_init(TT_SIM_SITE) { tt_sim::sfpu_init(tt_sim::SfpuInit::min_scalar, site); }
inline void unary_min_tile(uint32_t dst, uint32_t scalar, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::min_scalar, tt_sim::SfpuInit::min_scalar, dst, {{scalar}}, site);
}
inline void abs_tile_int32(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::abs_int, tt_sim::SfpuInit::abs, dst, {}, site);
}
}  // namespace ckernel
