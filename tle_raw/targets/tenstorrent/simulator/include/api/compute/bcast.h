#pragma once
#include "api/compute/compute_kernel_hw_startup.h"

namespace ckernel {
// The second operand's first row, column or element is repeated.
template <BroadcastType type, bool wide = DST_ACCUM_MODE>
inline void add_tiles_bcast(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst, TT_SIM_SITE) {
    tt_sim::eltwise(EltwiseBinaryType::ELWADD, type, a, b, tile_a, tile_b, dst, site);
}
inline void add_tiles_bcast_rows(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst, TT_SIM_SITE) {
    tt_sim::eltwise(EltwiseBinaryType::ELWADD, BroadcastType::ROW, a, b, tile_a, tile_b, dst, site);
}
inline void add_tiles_bcast_cols(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst, TT_SIM_SITE) {
    tt_sim::eltwise(EltwiseBinaryType::ELWADD, BroadcastType::COL, a, b, tile_a, tile_b, dst, site);
}
inline void add_tiles_bcast_scalar(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst,
                                   TT_SIM_SITE) {
    tt_sim::eltwise(EltwiseBinaryType::ELWADD, BroadcastType::SCALAR, a, b, tile_a, tile_b, dst, site);
}
template <BroadcastType type, bool wide = DST_ACCUM_MODE>
inline void sub_tiles_bcast(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst, TT_SIM_SITE) {
    tt_sim::eltwise(EltwiseBinaryType::ELWSUB, type, a, b, tile_a, tile_b, dst, site);
}
inline void sub_tiles_bcast_rows(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst, TT_SIM_SITE) {
    tt_sim::eltwise(EltwiseBinaryType::ELWSUB, BroadcastType::ROW, a, b, tile_a, tile_b, dst, site);
}
inline void sub_tiles_bcast_cols(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst, TT_SIM_SITE) {
    tt_sim::eltwise(EltwiseBinaryType::ELWSUB, BroadcastType::COL, a, b, tile_a, tile_b, dst, site);
}
inline void sub_tiles_bcast_scalar(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst,
                                   TT_SIM_SITE) {
    tt_sim::eltwise(EltwiseBinaryType::ELWSUB, BroadcastType::SCALAR, a, b, tile_a, tile_b, dst, site);
}
template <BroadcastType type, bool wide = DST_ACCUM_MODE>
inline void mul_tiles_bcast(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst, TT_SIM_SITE) {
    tt_sim::eltwise(EltwiseBinaryType::ELWMUL, type, a, b, tile_a, tile_b, dst, site);
}
inline void mul_tiles_bcast_rows(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst, TT_SIM_SITE) {
    tt_sim::eltwise(EltwiseBinaryType::ELWMUL, BroadcastType::ROW, a, b, tile_a, tile_b, dst, site);
}
inline void mul_tiles_bcast_cols(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst, TT_SIM_SITE) {
    tt_sim::eltwise(EltwiseBinaryType::ELWMUL, BroadcastType::COL, a, b, tile_a, tile_b, dst, site);
}
inline void mul_tiles_bcast_scalar(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst,
                                   TT_SIM_SITE) {
    tt_sim::eltwise(EltwiseBinaryType::ELWMUL, BroadcastType::SCALAR, a, b, tile_a, tile_b, dst, site);
}
template <EltwiseBinaryType operation, BroadcastType type, bool wide = DST_ACCUM_MODE>
inline void any_tiles_bcast(uint32_t a, uint32_t b, uint32_t tile_a, uint32_t tile_b, uint32_t dst, TT_SIM_SITE) {
    tt_sim::eltwise(operation, type, a, b, tile_a, tile_b, dst, site);
}

#if TT_SIM_RELEASE >= 7800
inline void add_bcast_rows_init(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWADD, BroadcastType::ROW, a, b, false, site);
}
inline void add_bcast_cols_init(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWADD, BroadcastType::COL, a, b, false, site);
}
inline void add_bcast_scalar_init(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWADD, BroadcastType::SCALAR, a, b, false, site);
}
inline void sub_bcast_rows_init(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWSUB, BroadcastType::ROW, a, b, false, site);
}
inline void sub_bcast_cols_init(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWSUB, BroadcastType::COL, a, b, false, site);
}
inline void sub_bcast_scalar_init(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWSUB, BroadcastType::SCALAR, a, b, false, site);
}
inline void mul_bcast_rows_init(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWMUL, BroadcastType::ROW, a, b, false, site);
}
inline void mul_bcast_cols_init(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWMUL, BroadcastType::COL, a, b, false, site);
}
inline void mul_bcast_scalar_init(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWMUL, BroadcastType::SCALAR, a, b, false, site);
}
template <EltwiseBinaryType operation, BroadcastType type>
inline void bcast_init(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(operation, type, a, b, false, site);
}
#endif
#if TT_SIM_RELEASE < 8100
inline void add_bcast_rows_init_short(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWADD, BroadcastType::ROW, a, b, false, site);
}
inline void add_bcast_cols_init_short(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWADD, BroadcastType::COL, a, b, false, site);
}
inline void add_bcast_scalar_init_short(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWADD, BroadcastType::SCALAR, a, b, false, site);
}
inline void mul_bcast_cols_init_short(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWMUL, BroadcastType::COL, a, b, false, site);
}
inline void mul_bcast_rows_init_short(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWMUL, BroadcastType::ROW, a, b, false, site);
}
inline void sub_bcast_cols_init_short(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWSUB, BroadcastType::COL, a, b, false, site);
}
inline void mul_tiles_bcast_scalar_init_short(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWMUL, BroadcastType::SCALAR, a, b, false, site);
}
inline void sub_tiles_bcast_scalar_init_short(uint32_t a, uint32_t b, TT_SIM_SITE) {
    tt_sim::init_eltwise(EltwiseBinaryType::ELWSUB, BroadcastType::SCALAR, a, b, false, site);
}
template <EltwiseBinaryType operation, BroadcastType type>
inline void init_bcast(uint32_t a, uint32_t b, uint32_t out, TT_SIM_SITE) {
    tt_sim::start_hardware(a, b, out, true, site);
    tt_sim::init_eltwise(operation, type, a, b, false, site);
}
#endif

// A copy of one tile with its first row, column or element repeated.
#if TT_SIM_RELEASE >= 8100
template <BroadcastType type, bool wide = DST_ACCUM_MODE>
inline void unary_bcast_init(uint32_t cb, TT_SIM_SITE) {
    tt_sim::init_broadcast(type, cb, site);
}
#else
template <BroadcastType type>
inline void unary_bcast_init(uint32_t cb, uint32_t out, TT_SIM_SITE) {
    tt_sim::start_hardware(cb, cb, out, true, site);
    tt_sim::init_broadcast(type, cb, site);
}
#endif
template <BroadcastType type, bool wide = DST_ACCUM_MODE>
inline void unary_bcast(uint32_t cb, uint32_t tile, uint32_t dst, TT_SIM_SITE) {
    tt_sim::broadcast(type, cb, tile, dst, site);
}
template <BroadcastType type>
inline void unary_bcast_uninit(uint32_t) {}
}  // namespace ckernel
