#pragma once
#include "api/compute/compute_kernel_hw_startup.h"

namespace ckernel {
// Of two circular buffers. A product is added to what the register holds, as on the device.
inline void add_tiles(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst, TT_SIM_SITE) {
    tt_sim::eltwise(EltwiseBinaryType::ELWADD, BroadcastType::NONE, a, b, tile_a, tile_b, dst, site);
}
inline void sub_tiles(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst, TT_SIM_SITE) {
    tt_sim::eltwise(EltwiseBinaryType::ELWSUB, BroadcastType::NONE, a, b, tile_a, tile_b, dst, site);
}
inline void mul_tiles(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst, TT_SIM_SITE) {
    tt_sim::eltwise(EltwiseBinaryType::ELWMUL, BroadcastType::NONE, a, b, tile_a, tile_b, dst, site);
}

#if TT_SIM_RELEASE >= 7800
inline void add_init(uint32_t a, uint32_t b, bool accumulate = false, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWADD, BroadcastType::NONE, a, b, accumulate, site);
}
inline void sub_init(uint32_t a, uint32_t b, bool accumulate = false, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWSUB, BroadcastType::NONE, a, b, accumulate, site);
}
inline void mul_init(uint32_t a, uint32_t b, bool accumulate = false, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWMUL, BroadcastType::NONE, a, b, accumulate, site);
}

// One operand is what the register holds.
template <EltwiseBinaryReuseDestType reuse>
inline void add_reuse_dest_init(uint32_t cb, TT_SIM_SITE) {
    tt_sim::init_reuse(EltwiseBinaryType::ELWADD, reuse, cb, site);
}
template <EltwiseBinaryReuseDestType reuse, bool wide = DST_ACCUM_MODE>
inline void add_reuse_dest_tiles(uint32_t cb, uint32_t tile, uint32_t dst, TT_SIM_SITE) {
    tt_sim::reuse(EltwiseBinaryType::ELWADD, reuse, cb, tile, dst, site);
}
template <EltwiseBinaryReuseDestType reuse>
inline void sub_reuse_dest_init(uint32_t cb, TT_SIM_SITE) {
    tt_sim::init_reuse(EltwiseBinaryType::ELWSUB, reuse, cb, site);
}
template <EltwiseBinaryReuseDestType reuse, bool wide = DST_ACCUM_MODE>
inline void sub_reuse_dest_tiles(uint32_t cb, uint32_t tile, uint32_t dst, TT_SIM_SITE) {
    tt_sim::reuse(EltwiseBinaryType::ELWSUB, reuse, cb, tile, dst, site);
}
template <EltwiseBinaryReuseDestType reuse>
inline void mul_reuse_dest_init(uint32_t cb, TT_SIM_SITE) {
    tt_sim::init_reuse(EltwiseBinaryType::ELWMUL, reuse, cb, site);
}
template <EltwiseBinaryReuseDestType reuse, bool wide = DST_ACCUM_MODE>
inline void mul_reuse_dest_tiles(uint32_t cb, uint32_t tile, uint32_t dst, TT_SIM_SITE) {
    tt_sim::reuse(EltwiseBinaryType::ELWMUL, reuse, cb, tile, dst, site);
}
#endif
#if TT_SIM_RELEASE < 8100
inline void add_tiles_init(uint32_t a, uint32_t b, bool accumulate = false, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWADD, BroadcastType::NONE, a, b, accumulate, site);
}
inline void sub_tiles_init(uint32_t a, uint32_t b, bool accumulate = false, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWSUB, BroadcastType::NONE, a, b, accumulate, site);
}
inline void mul_tiles_init(uint32_t a, uint32_t b, bool accumulate = false, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWMUL, BroadcastType::NONE, a, b, accumulate, site);
}
#endif
#if TT_SIM_RELEASE < 7800
inline void binary_op_init_common(uint32_t a, uint32_t b, uint32_t out, TT_SIM_SITE) {
    tt_sim::start_hardware(a, b, out, true, site);
}
template <EltwiseBinaryType operation = EltwiseBinaryType::ELWADD,
          EltwiseBinaryReuseDestType reuse = EltwiseBinaryReuseDestType::NONE>
inline void binary_dest_reuse_tiles_init(uint32_t cb, TT_SIM_SITE) {
    tt_sim::init_reuse(operation, reuse, cb, site);
}
template <EltwiseBinaryType operation = EltwiseBinaryType::ELWADD,
          EltwiseBinaryReuseDestType reuse = EltwiseBinaryReuseDestType::NONE>
inline void binary_dest_reuse_tiles(uint32_t cb, uint32_t tile, uint32_t dst, TT_SIM_SITE) {
    tt_sim::reuse(operation, reuse, cb, tile, dst, site);
}
#endif
}  // namespace ckernel
