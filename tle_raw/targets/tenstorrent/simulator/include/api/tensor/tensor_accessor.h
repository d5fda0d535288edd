// Where the pages of a tensor lie: page number in, address on the network out.
#pragma once
#include "api/tensor/tensor_accessor_args.h"

namespace tt_sim {
struct AccessorWords {
    bool is_dram, is_sharded;
    uint32_t aligned_page_bytes, rank, banks;
    const uint32_t *shape, *shard, *coordinates;
};
struct PageAccess {
    AccessorWords words;
    uint32_t address, page_bytes;
};
uint64_t page_address(const PageAccess& access, uint32_t page, uint32_t offset, Site site);
}  // namespace tt_sim

struct TensorAccessor : tt_sim::PageAccess {
    template <size_t Offset, size_t Common>
    TensorAccessor(TensorAccessorArgs<Offset, Common>, uint32_t at,
                   uint32_t bytes = TensorAccessorArgs<Offset, Common>::AlignedPageSize)
        : PageAccess{words_of<TensorAccessorArgs<Offset, Common>>(), at, bytes} {}

    uint64_t get_noc_addr(uint32_t page, uint32_t offset = 0, uint8_t = 0, TT_SIM_SITE) const {
        return tt_sim::page_address(*this, page, offset, site);
    }
    uint32_t get_aligned_page_size() const { return words.aligned_page_bytes; }

private:
    template <typename Args>
    static tt_sim::AccessorWords words_of() {
        const uint32_t* lists = tt_sim::compile_time_words + (Args::is_sharded ? Args::compile_time_offset + 4 : 0);
        return {Args::is_dram, Args::is_sharded,   Args::AlignedPageSize, Args::rank, Args::banks,
                lists,         lists + Args::rank, lists + 2 * Args::rank};
    }
};
