// Stores the output tiles of this core in order.
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    const uint32_t c_address = get_arg_val<uint32_t>(0), start_id = get_arg_val<uint32_t>(1),
                   count = get_arg_val<uint32_t>(2);
    constexpr auto cb_out0 = tt::CBIndex::c_16;
    constexpr auto c_args = TensorAccessorArgs<0>();
    const auto c = TensorAccessor(c_args, c_address, get_tile_size(cb_out0));
    for (uint32_t tile = start_id; tile < start_id + count; ++tile) {
        cb_wait_front(cb_out0, 1);
        noc_async_write_tile(tile, c, get_read_ptr(cb_out0));
        noc_async_write_barrier();
        cb_pop_front(cb_out0, 1);
    }
}
