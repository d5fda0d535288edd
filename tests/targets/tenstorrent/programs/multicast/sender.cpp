// Reads a tile, waits until all receivers have room, and sends it to them.
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    const uint32_t address = get_arg_val<uint32_t>(0), receivers = get_arg_val<uint32_t>(1);
    const uint32_t x_start = get_arg_val<uint32_t>(2), x_end = get_arg_val<uint32_t>(3), y = get_arg_val<uint32_t>(4);
    constexpr uint32_t cb = tt::CBIndex::c_0;
    const auto from = TensorAccessor(TensorAccessorArgs<0>(), address, get_tile_size(cb));
    auto* ready = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(0));
    const uint32_t valid = get_semaphore(1);
    cb_reserve_back(cb, 1);
    const uint32_t tile = get_write_ptr(cb);
    noc_async_read_tile(0, from, tile);
    noc_async_read_barrier();
    noc_semaphore_wait(ready, receivers);
    noc_semaphore_set(ready, 0);
    cb_push_back(cb, 1);
    cb_wait_front(cb, 1);
    noc_async_write_multicast(tile, get_noc_multicast_addr(x_start, y, x_end, y, tile), get_tile_size(cb), receivers);
    noc_semaphore_set(reinterpret_cast<volatile tt_l1_ptr uint32_t*>(valid), 1);
    noc_semaphore_set_multicast(valid, get_noc_multicast_addr(x_start, y, x_end, y, valid), receivers);
    noc_async_write_barrier();
    const auto to = TensorAccessor(TensorAccessorArgs<2>(), get_arg_val<uint32_t>(5), get_tile_size(cb));
    noc_async_write_tile(0, to, get_read_ptr(cb));
    noc_async_write_barrier();
    cb_pop_front(cb, 1);
}
