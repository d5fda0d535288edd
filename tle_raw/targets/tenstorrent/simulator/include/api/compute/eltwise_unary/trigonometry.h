#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <auto...>
inline void sin_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::sin, site);
}
template <auto...>
inline void sin_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::sin, tt_sim::SfpuInit::sin, dst, {{}}, site);
}
template <auto...>
inline void cos_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::cos, site);
}
template <auto...>
inline void cos_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::cos, tt_sim::SfpuInit::cos, dst, {{}}, site);
}
template <auto...>
inline void tan_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::tan, site);
}
template <auto...>
inline void tan_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::tan, tt_sim::SfpuInit::tan, dst, {{}}, site);
}
template <auto...>
inline void asin_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::asin, site);
}
template <auto...>
inline void asin_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::asin, tt_sim::SfpuInit::asin, dst, {{}}, site);
}
template <auto...>
inline void acos_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::acos, site);
}
template <auto...>
inline void acos_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::acos, tt_sim::SfpuInit::acos, dst, {{}}, site);
}
template <auto...>
inline void atan_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::atan, site);
}
template <auto...>
inline void atan_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::atan, tt_sim::SfpuInit::atan, dst, {{}}, site);
}
template <auto...>
inline void sinh_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::sinh, site);
}
template <auto...>
inline void sinh_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::sinh, tt_sim::SfpuInit::sinh, dst, {{}}, site);
}
template <auto...>
inline void cosh_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::cosh, site);
}
template <auto...>
inline void cosh_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::cosh, tt_sim::SfpuInit::cosh, dst, {{}}, site);
}
template <auto...>
inline void asinh_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::asinh, site);
}
template <auto...>
inline void asinh_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::asinh, tt_sim::SfpuInit::asinh, dst, {{}}, site);
}
template <auto...>
inline void acosh_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::acosh, site);
}
template <auto...>
inline void acosh_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::acosh, tt_sim::SfpuInit::acosh, dst, {{}}, site);
}
template <auto...>
inline void atanh_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::atanh, site);
}
template <auto...>
inline void atanh_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::atanh, tt_sim::SfpuInit::atanh, dst, {{}}, site);
}
}  // namespace ckernel
