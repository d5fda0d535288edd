// The tile of ones, then the row's tiles.
#include "api/dataflow/dataflow_api.h"
template <uint32_t input, typename Accessor>
void fetch(uint32_t tile, const Accessor& from) {
    cb_reserve_back(input, 1);
    noc_async_read_tile(tile, from, get_write_ptr(input));
    noc_async_read_barrier();
    cb_push_back(input, 1);
}
void kernel_main() {
    constexpr auto x_args = TensorAccessorArgs<0>();
    constexpr auto scaler_args = TensorAccessorArgs<x_args.next_compile_time_args_offset()>();
    fetch<1>(0, TensorAccessor(scaler_args, get_arg_val<uint32_t>(1), get_tile_size(1)));
    const auto x = TensorAccessor(x_args, get_arg_val<uint32_t>(0), get_tile_size(0));
    for (uint32_t i = 0; i < get_arg_val<uint32_t>(2); ++i) fetch<0>(i, x);
}
