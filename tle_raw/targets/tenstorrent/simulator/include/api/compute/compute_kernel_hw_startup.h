#pragma once
#include "api/compute/common.h"

namespace ckernel {
#if TT_SIM_RELEASE >= 7400
// Once, first: source A, source B and the packer take the formats of these buffers.
template <SrcOrder order = SrcOrder::Regular>
inline void compute_kernel_hw_startup(uint32_t in0, uint32_t in1, uint32_t out, TT_SIM_SITE) {
    tt_sim::start_hardware(order == SrcOrder::Reverse ? in1 : in0, order == SrcOrder::Reverse ? in0 : in1, out, false,
                           site);
}
#else
inline void compute_kernel_hw_startup(uint32_t in0, uint32_t in1, uint32_t out, TT_SIM_SITE) {
    tt_sim::start_hardware(in0, in1, out, false, site);
}
#endif
inline void compute_kernel_hw_startup(uint32_t in, uint32_t out, TT_SIM_SITE) {
    tt_sim::start_hardware(in, in, out, false, site);
}
}  // namespace ckernel
