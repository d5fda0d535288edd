#pragma once
#include "api/compute/common.h"

namespace ckernel {
template <auto...>
inline void sin_tile_init(tt_sim::Site site = tt_sim::Site::here()) { tt_sim::sfpu_init(tt_sim::SfpuInit::sin, site); }
template <auto...>
inline void sin_tile(uint32_t dst, tt_sim::Site site = tt_sim::Site::here()) { tt_sim::sfpu(tt_sim::Sfpu::sin, tt_sim::SfpuInit::sin, dst, {{}}, site); }
template <auto...>
inline void cos_tile_init(tt_sim::Site site = tt_sim::Site::here()) { tt_sim::sfpu_init(tt_sim::SfpuInit::cos, site); }
template <auto...>
inline void cos_tile(uint32_t dst, tt_sim::Site site = tt_sim::Site::here()) { tt_sim::sfpu(tt_sim::Sfpu::cos, tt_sim::SfpuInit::cos, dst, {{}}, site); }
template <auto...>
inline void tan_tile_init(tt_sim::Site site = tt_sim::Site::here()) { tt_sim::sfpu_init(tt_sim::SfpuInit::tan, site); }
template <auto...>
inline void tan_tile(uint32_t dst, tt_sim::Site site = tt_sim::Site::here()) { tt_sim::sfpu(tt_sim::Sfpu::tan, tt_sim::SfpuInit::tan, dst, {{}}, site); }
}  // namespace ckernel
