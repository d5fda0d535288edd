// What a kernel knows of a tensor at compile time: memory, sharding, size of a page.
#pragma once
#include "api/compile_time_args.h"
#include "simulator/circular_buffer_calls.h"

// Words: configuration (1 sharded, 2 DRAM), aligned bytes of a page; when sharded also rank, number of banks, shape in
// pages, shape of a shard in pages, and two bank coordinates a word.
template <size_t Offset, size_t CommonOffset = 0>
struct TensorAccessorArgs {
    static constexpr uint32_t configuration = get_compile_time_arg_val(Offset);
    static constexpr bool is_sharded = configuration & 1, is_dram = configuration & 2;
    static constexpr uint32_t AlignedPageSize = get_compile_time_arg_val(Offset + 1);
    static constexpr uint32_t rank = is_sharded ? get_compile_time_arg_val(Offset + 2 * is_sharded) : 0;
    static constexpr uint32_t banks = is_sharded ? get_compile_time_arg_val(Offset + 3 * is_sharded) : 0;
    static_assert((configuration & ~3u) == 0,
                  "no accessor at this offset, or one with runtime fields, which the simulator has not");

    static constexpr size_t next_compile_time_args_offset() {
        return Offset + (is_sharded ? 4 + 2 * rank + (banks + 1) / 2 : 2);
    }
    static constexpr size_t next_common_runtime_args_offset() { return CommonOffset; }
    static constexpr size_t compile_time_offset = Offset;
};
