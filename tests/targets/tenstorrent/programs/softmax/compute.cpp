// Softmax over rows: a has the tiles of one row of tiles, b a tile of ones.
#include "api/compute/bcast.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_unary/exp.h"
#include "api/compute/eltwise_unary/recip.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/reduce.h"

void kernel_main() {
    const uint32_t count = get_arg_val<uint32_t>(0);
    constexpr uint32_t a = 0, b = 1, out = 16, largest = 3, powers = 4, sums = 5;
    compute_kernel_hw_startup(a, b, largest);
    cb_wait_front(b, 1);
    // The maximum of each row, over all tiles.
    cb_wait_front(a, count);
    tile_regs_acquire();
    reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW>(a, b, largest);
    for (uint32_t i = 0; i < count; ++i) reduce_tile<PoolType::MAX, ReduceDim::REDUCE_ROW>(a, b, i, 0, 0);
    tile_regs_commit();
    tile_regs_wait();
    cb_reserve_back(largest, 1);
    pack_tile(0, largest);
    cb_push_back(largest, 1);
    tile_regs_release();
    reduce_uninit();
    // exp(x - maximum)
    cb_wait_front(largest, 1);
    sub_bcast_cols_init(a, largest);
    exp_tile_init();
    for (uint32_t i = 0; i < count; ++i) {
        tile_regs_acquire();
        sub_tiles_bcast_cols(a, largest, i, 0, 0);
        exp_tile(0);
        tile_regs_commit();
        tile_regs_wait();
        cb_reserve_back(powers, 1);
        pack_tile(0, powers);
        cb_push_back(powers, 1);
        tile_regs_release();
    }
    cb_pop_front(a, count);
    cb_pop_front(largest, 1);
    // 1 / sum of each row
    cb_wait_front(powers, count);
    tile_regs_acquire();
    reduce_init<PoolType::SUM, ReduceDim::REDUCE_ROW>(powers, b, sums);
    for (uint32_t i = 0; i < count; ++i) reduce_tile<PoolType::SUM, ReduceDim::REDUCE_ROW>(powers, b, i, 0, 0);
    recip_tile_init();
    recip_tile(0, VectorMode::C);
    tile_regs_commit();
    tile_regs_wait();
    cb_reserve_back(sums, 1);
    pack_tile(0, sums);
    cb_push_back(sums, 1);
    tile_regs_release();
    reduce_uninit();
    cb_wait_front(sums, 1);
    mul_bcast_cols_init(powers, sums);
    pack_reconfig_data_format(out);
    for (uint32_t i = 0; i < count; ++i) {
        tile_regs_acquire();
        mul_tiles_bcast_cols(powers, sums, i, 0, 0);
        tile_regs_commit();
        tile_regs_wait();
        cb_reserve_back(out, 1);
        pack_tile(0, out);
        cb_push_back(out, 1);
        tile_regs_release();
    }
    cb_pop_front(powers, count);
    cb_pop_front(sums, 1);
    cb_pop_front(b, 1);
}
