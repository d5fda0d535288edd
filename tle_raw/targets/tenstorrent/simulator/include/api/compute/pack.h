#pragma once
#include "api/compute/common.h"

namespace ckernel {
// Behind the tile packed before, or, out of order, into the page with this index of the reserved ones.
template <bool out_of_order_output = false>
inline void pack_tile(uint32_t from, uint32_t cb, uint32_t index = 0, TT_SIM_SITE) {
    tt_sim::pack(from, cb, out_of_order_output, index, site);
}
inline void pack_tile_block(uint32_t from, uint32_t cb, uint32_t tiles, TT_SIM_SITE) {
    for (uint32_t i = 0; i < tiles; ++i) tt_sim::pack(from + i, cb, false, 0, site);
}
#if TT_SIM_RELEASE >= 8000
inline void pack_block(uint32_t from, uint32_t cb, uint32_t tiles, TT_SIM_SITE) {
    pack_tile_block(from, cb, tiles, site);
}
#endif
inline void pack_relu_config(const ReluConfig& config, TT_SIM_SITE) { tt_sim::pack_relu(config, site); }
#if TT_SIM_RELEASE < 8000
inline void pack_relu_config(uint32_t bits, TT_SIM_SITE) {
    tt_sim::pack_relu({static_cast<ReluConfig::Mode>(bits & 3), bits >> 16}, site);
}
#endif
inline void pack_reconfig_l1_acc(uint32_t on, TT_SIM_SITE) { tt_sim::pack_accumulate(on != 0, site); }
template <bool tile_dims_too = false>
inline void pack_reconfig_data_format(uint32_t cb, TT_SIM_SITE) {
    tt_sim::reconfigure_pack(cb, site);
}
template <bool tile_dims_too = false>
inline void pack_reconfig_data_format(uint32_t old_cb, uint32_t cb, TT_SIM_SITE) {
    tt_sim::reconfigure_pack_from(old_cb, cb, site);
}
}  // namespace ckernel
