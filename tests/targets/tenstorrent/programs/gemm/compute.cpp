// Each output tile is a sum of Kt products in destination register 0.
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/matmul.h"

void kernel_main() {
    const uint32_t count = get_arg_val<uint32_t>(0), Kt = get_arg_val<uint32_t>(1);
    constexpr auto cb_in0 = tt::CBIndex::c_0, cb_in1 = tt::CBIndex::c_1, cb_out0 = tt::CBIndex::c_16;
    compute_kernel_hw_startup<SrcOrder::Reverse>(cb_in0, cb_in1, cb_out0);
    matmul_init(cb_in0, cb_in1);
    for (uint32_t tile = 0; tile < count; ++tile) {
        tile_regs_acquire();
        for (uint32_t k = 0; k < Kt; ++k) {
            cb_wait_front(cb_in0, 1);
            cb_wait_front(cb_in1, 1);
            matmul_tiles(cb_in0, cb_in1, 0, 0, 0);
            cb_pop_front(cb_in0, 1);
            cb_pop_front(cb_in1, 1);
        }
        tile_regs_commit();
        tile_regs_wait();
        cb_reserve_back(cb_out0, 1);
        pack_tile(0, cb_out0);
        cb_push_back(cb_out0, 1);
        tile_regs_release();
    }
}
