#pragma once
#include "api/compute/compute_kernel_hw_startup.h"

namespace ckernel {
template <bool wide = DST_ACCUM_MODE>
inline void copy_tile(uint32_t cb, uint32_t tile, uint32_t dst, TT_SIM_SITE) {
    tt_sim::copy(cb, tile, dst, site);
}

#if TT_SIM_RELEASE >= 7800
template <bool wide = DST_ACCUM_MODE>
inline void copy_init(uint32_t cb, uint32_t transpose = 0, uint32_t = 0, TT_SIM_SITE) {
    tt_sim::init_copy(cb, transpose != 0, site);
}
template <bool wide = DST_ACCUM_MODE>
[[deprecated("renamed to copy_init")]] inline void copy_tile_init(uint32_t cb, TT_SIM_SITE) {
    tt_sim::init_copy(cb, false, site);
}
inline void copy_block(uint32_t cb, uint32_t tile, uint32_t dst, uint32_t tiles, TT_SIM_SITE) {
    for (uint32_t i = 0; i < tiles; ++i) tt_sim::copy(cb, tile + i, dst + i, site);
}
#else
inline void copy_tile_init(uint32_t cb, TT_SIM_SITE) { tt_sim::init_copy(cb, false, site); }
inline void copy_tile_to_dst_init_short(uint32_t cb, uint32_t transpose = 0, uint32_t = 0, TT_SIM_SITE) {
    tt_sim::init_copy(cb, transpose != 0, site);
}
inline void copy_tile_to_dst_init_short_with_dt(uint32_t old_cb, uint32_t cb, uint32_t transpose = 0, TT_SIM_SITE) {
    tt_sim::reconfigure_source_from(false, old_cb, cb, site);
    tt_sim::init_copy(cb, transpose != 0, site);
}
#endif
}  // namespace ckernel
