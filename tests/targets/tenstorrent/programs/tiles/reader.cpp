// The tiles of one or two inputs, one of each in turn.
#include "api/dataflow/dataflow_api.h"

template <uint32_t input, typename Accessor>
void fetch(uint32_t tile, const Accessor& from) {
    cb_reserve_back(input, 1);
    noc_async_read_tile(tile, from, get_write_ptr(input));
    noc_async_read_barrier();
    cb_push_back(input, 1);
}

void kernel_main() {
    const uint32_t count = get_arg_val<uint32_t>(INPUTS);
    constexpr auto first_args = TensorAccessorArgs<0>();
    const auto first = TensorAccessor(first_args, get_arg_val<uint32_t>(0), get_tile_size(0));
#if INPUTS > 1
    constexpr auto second_args = TensorAccessorArgs<first_args.next_compile_time_args_offset()>();
    const auto second = TensorAccessor(second_args, get_arg_val<uint32_t>(1), get_tile_size(1));
#endif
    for (uint32_t tile = 0; tile < count; ++tile) {
        fetch<0>(tile, first);
#if INPUTS > 1
        fetch<1>(tile, second);
#endif
    }
}
