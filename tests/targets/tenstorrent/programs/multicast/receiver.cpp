// Says that there is room, and stores what comes.
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    const uint32_t sender_x = get_arg_val<uint32_t>(0), sender_y = get_arg_val<uint32_t>(1);
    const uint32_t address = get_arg_val<uint32_t>(2), tile = get_arg_val<uint32_t>(3);
    constexpr uint32_t cb = tt::CBIndex::c_0;
    cb_reserve_back(cb, 1);
    auto* valid = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(1));
    noc_semaphore_inc(get_noc_addr(sender_x, sender_y, get_semaphore(0)), 1);
    noc_semaphore_wait(valid, 1);
    cb_push_back(cb, 1);
    cb_wait_front(cb, 1);
    const auto to = TensorAccessor(TensorAccessorArgs<0>(), address, get_tile_size(cb));
    noc_async_write_tile(tile, to, get_read_ptr(cb));
    noc_async_write_barrier();
    cb_pop_front(cb, 1);
}
