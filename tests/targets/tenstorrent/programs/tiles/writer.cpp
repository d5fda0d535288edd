// The tiles of circular buffer 16, in order.
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    const uint32_t count = get_arg_val<uint32_t>(1);
    const auto out = TensorAccessor(TensorAccessorArgs<0>(), get_arg_val<uint32_t>(0), get_tile_size(16));
    for (uint32_t tile = 0; tile < count; ++tile) {
        cb_wait_front(16, 1);
        noc_async_write_tile(tile, out, get_read_ptr(16));
        noc_async_write_barrier();
        cb_pop_front(16, 1);
    }
}
