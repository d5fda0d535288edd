// For each output tile of this core: the row of A tiles and the column of B tiles.
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    const uint32_t a_address = get_arg_val<uint32_t>(0), b_address = get_arg_val<uint32_t>(1);
    const uint32_t start_id = get_arg_val<uint32_t>(2), count = get_arg_val<uint32_t>(3);
    const uint32_t Kt = get_arg_val<uint32_t>(4), Nt = get_arg_val<uint32_t>(5);
    constexpr auto cb_in0 = tt::CBIndex::c_0, cb_in1 = tt::CBIndex::c_1;
    constexpr auto a_args = TensorAccessorArgs<0>();
    constexpr auto b_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
    const auto a = TensorAccessor(a_args, a_address, get_tile_size(cb_in0));
    const auto b = TensorAccessor(b_args, b_address, get_tile_size(cb_in1));
    for (uint32_t tile = start_id; tile < start_id + count; ++tile) {
        const uint32_t by = tile / Nt, bx = tile % Nt;
        for (uint32_t k = 0; k < Kt; ++k) {
            cb_reserve_back(cb_in0, 1);
            cb_reserve_back(cb_in1, 1);
            noc_async_read_tile(by * Kt + k, a, get_write_ptr(cb_in0));
            noc_async_read_tile(k * Nt + bx, b, get_write_ptr(cb_in1));
            noc_async_read_barrier();
            cb_push_back(cb_in0, 1);
            cb_push_back(cb_in1, 1);
        }
    }
}
