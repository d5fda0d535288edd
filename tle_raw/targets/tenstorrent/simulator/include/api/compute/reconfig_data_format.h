#pragma once
#include "api/compute/pack.h"

namespace ckernel {
#if TT_SIM_RELEASE >= 7400
template <SrcOrder order = SrcOrder::Regular>
inline void reconfig_data_format(uint32_t in0, uint32_t in1, TT_SIM_SITE) {
    tt_sim::reconfigure_source(order == SrcOrder::Reverse, in0, site);
    tt_sim::reconfigure_source(order != SrcOrder::Reverse, in1, site);
}
template <SrcOrder order = SrcOrder::Regular>
inline void reconfig_data_format(uint32_t old0, uint32_t in0, uint32_t old1, uint32_t in1, TT_SIM_SITE) {
    tt_sim::reconfigure_source_from(order == SrcOrder::Reverse, old0, in0, site);
    tt_sim::reconfigure_source_from(order != SrcOrder::Reverse, old1, in1, site);
}
#else
template <bool integers = false, bool tile_dims_too = false>
inline void reconfig_data_format(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::reconfigure_source(false, a, site);
    tt_sim::reconfigure_source(true, b, site);
}
template <bool integers = false, bool tile_dims_too = false>
inline void reconfig_data_format(uint32_t old_a, uint32_t a, uint32_t old_b, uint32_t b, TT_SIM_SITE) {
    tt_sim::reconfigure_source_from(false, old_a, a, site);
    tt_sim::reconfigure_source_from(true, old_b, b, site);
}
#endif
template <bool integers = false, bool tile_dims_too = false>
inline void reconfig_data_format_srca(uint32_t cb, TT_SIM_SITE) {
    tt_sim::reconfigure_source(false, cb, site);
}
template <bool integers = false, bool tile_dims_too = false>
inline void reconfig_data_format_srca(uint32_t old_cb, uint32_t cb, TT_SIM_SITE) {
    tt_sim::reconfigure_source_from(false, old_cb, cb, site);
}
template <bool integers = false, bool tile_dims_too = false>
inline void reconfig_data_format_srcb(uint32_t cb, TT_SIM_SITE) {
    tt_sim::reconfigure_source(true, cb, site);
}
template <bool integers = false, bool tile_dims_too = false>
inline void reconfig_data_format_srcb(uint32_t old_cb, uint32_t cb, TT_SIM_SITE) {
    tt_sim::reconfigure_source_from(true, old_cb, cb, site);
}
}  // namespace ckernel
