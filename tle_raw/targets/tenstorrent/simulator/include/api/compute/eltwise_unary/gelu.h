#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <auto...>
inline void gelu_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::gelu, site);
}
template <auto...>
inline void gelu_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::gelu, tt_sim::SfpuInit::gelu, dst, {{}}, site);
}
template <auto...>
inline void gelu_tanh_tile_init(TT_SIM_SITE) {
    tt_sim::sfpu_init(tt_sim::SfpuInit::gelu_tanh, site);
}
template <auto...>
inline void gelu_tanh_tile(uint32_t dst, TT_SIM_SITE) {
    tt_sim::sfpu(tt_sim::Sfpu::gelu_tanh, tt_sim::SfpuInit::gelu_tanh, dst, {{}}, site);
}
}  // namespace ckernel
