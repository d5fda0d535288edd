#pragma once
#include "api/compute/tile_move_copy.h"

namespace ckernel {
#if TT_SIM_RELEASE < 7800
inline void unary_op_init_common(uint32_t in, uint32_t out, TT_SIM_SITE) {
    tt_sim::start_hardware(in, in, out, true, site);
    tt_sim::init_copy(in, false, site);
}
inline void init_sfpu(uint32_t in, uint32_t out, TT_SIM_SITE) { unary_op_init_common(in, out, site); }
#endif
}  // namespace ckernel
