#pragma once
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/pack.h"

namespace ckernel {
// in0 goes to source B, in1 to source A. The result is added to the register.
inline void matmul_tiles(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t dst, TT_SIM_SITE) {
    tt_sim::matmul(in0, in1, tile0, tile1, dst, site);
}
inline void matmul_block(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t dst, uint32_t transpose,
                         uint32_t columns, uint32_t rows, uint32_t depth, TT_SIM_SITE) {
    tt_sim::matmul_block(in0, in1, tile0, tile1, dst, transpose, columns, rows, depth, site);
}

#if TT_SIM_RELEASE >= 7400
inline void matmul_init(uint32_t in0, uint32_t in1, uint32_t transpose = 0, TT_SIM_SITE) {
    tt_sim::init_matmul(in0, in1, transpose, 1, 1, 1, site);
}
inline void matmul_block_init(uint32_t in0, uint32_t in1, uint32_t transpose = 0, uint32_t columns = 1,
                              uint32_t rows = 1, uint32_t depth = 1, TT_SIM_SITE) {
    tt_sim::init_matmul(in0, in1, transpose, columns, rows, depth, site);
}
#else
inline void mm_init(uint32_t in0, uint32_t in1, uint32_t out, uint32_t transpose = 0, TT_SIM_SITE) {
    tt_sim::start_hardware(in1, in0, out, true, site);
    tt_sim::init_matmul(in0, in1, transpose, 1, 1, 1, site);
}
inline void mm_init_short(uint32_t in0, uint32_t in1, uint32_t transpose = 0, TT_SIM_SITE) {
    tt_sim::init_matmul(in0, in1, transpose, 1, 1, 1, site);
}
inline void mm_init_short_with_dt(uint32_t in0, uint32_t in1, uint32_t old_in1, uint32_t transpose = 0, TT_SIM_SITE) {
    tt_sim::reconfigure_source_from(false, old_in1, in1, site);
    tt_sim::init_matmul(in0, in1, transpose, 1, 1, 1, site);
}
inline void mm_block_init(uint32_t in0, uint32_t in1, uint32_t out, uint32_t transpose = 0, uint32_t columns = 1,
                          uint32_t rows = 1, uint32_t depth = 1, TT_SIM_SITE) {
    tt_sim::start_hardware(in1, in0, out, true, site);
    tt_sim::init_matmul(in0, in1, transpose, columns, rows, depth, site);
}
inline void mm_block_init_short(uint32_t in0, uint32_t in1, uint32_t transpose = 0, uint32_t columns = 1,
                                uint32_t rows = 1, uint32_t depth = 1, TT_SIM_SITE) {
    tt_sim::init_matmul(in0, in1, transpose, columns, rows, depth, site);
}
#endif
}  // namespace ckernel
