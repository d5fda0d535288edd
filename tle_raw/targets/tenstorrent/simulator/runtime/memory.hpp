// L1 of all cores, the DRAM banks, and which buffers of the host lie where.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "chip.hpp"
#include "simulator/site.h"

namespace tt_sim {
struct Core;

// Kernels hold L1 addresses in 32 bits and use them as pointers: the L1 of core n is mapped at this address of the
// process.
inline constexpr uint32_t l1_window = 1u << 21, l1_first_window = 1u << 28;
inline constexpr uint32_t poison = 0xFFED7FED;  // a NaN in fp32, and both halves are in bf16 and fp16

enum class Placement { interleaved, sharded };

struct DeviceBuffer {
    uint32_t address = 0, pages = 0, page_bytes = 0, aligned_page_bytes = 0;
    uint64_t bytes = 0;
    bool is_dram = true;
    Placement placement = Placement::interleaved;
    std::vector<uint32_t> shape, shard;  // in pages, when sharded
    std::vector<uint32_t> banks;         // DRAM banks, or indices of cores, when sharded
    std::string label;

    uint32_t bank_count() const;
    uint32_t bytes_per_bank() const;
    // The bank of a page (a DRAM bank, or the index of a core), and its offset from the buffer's address.
    void locate(uint32_t page, uint32_t& bank, uint64_t& offset) const;
};

struct Memory {
    explicit Memory(const Chip& chip);

    const Chip& chip;
    std::vector<uint8_t*> banks;         // addresses only; memory comes with the buffers
    std::vector<DeviceBuffer*> buffers;  // alive
    uint32_t l1_top;                     // buffers of the host grow down from the end, circular buffers up

    uint8_t* l1(uint32_t core) const {
        return reinterpret_cast<uint8_t*>(uint64_t{l1_first_window} + uint64_t{l1_window} * core);
    }
    uint32_t cores() const { return chip.columns * chip.rows; }
    uint8_t* page(const DeviceBuffer& buffer, uint32_t page) const;
    void allocate(DeviceBuffer& buffer);
    void release(DeviceBuffer& buffer);
    const DeviceBuffer* at_address(uint32_t address, bool is_dram) const;

private:
    uint32_t dram_next = 0;
};

Memory& memory();
const Chip& chip();
}  // namespace tt_sim
