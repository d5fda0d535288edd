#include "memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "failure.hpp"

namespace tt_sim {
namespace {
uint32_t rounded_up(uint64_t value, uint32_t step) { return static_cast<uint32_t>((value + step - 1) / step * step); }
}  // namespace

const Chip& chip() {
    static const Chip& chosen = []() -> const Chip& {
        const char* name = std::getenv("TT_SIM_ARCH");
        if (!name || std::strcmp(name, wormhole.name) == 0) return wormhole;
        if (std::strcmp(name, blackhole.name) == 0) return blackhole;
        fail_host(text("TT_SIM_ARCH is %s; the simulator knows wormhole_b0 and blackhole", name));
    }();
    return chosen;
}

Memory& memory() {
    static Memory* whole = new Memory(chip());
    return *whole;
}

Memory::Memory(const Chip& of) : chip(of), l1_top(of.l1_bytes) {
    auto reserve = [](uint64_t at, uint64_t bytes, int protection, int flags) {
        void* got = mmap(reinterpret_cast<void*>(at), bytes, protection,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
        if (got == MAP_FAILED) fail_host("the system gave no memory for the simulated device");
        return static_cast<uint8_t*>(got);
    };
    reserve(l1_first_window, uint64_t{l1_window} * cores(), PROT_READ | PROT_WRITE, MAP_FIXED_NOREPLACE);
    for (uint32_t bank = 0; bank < chip.dram_banks; ++bank)
        banks.push_back(reserve(0, chip.dram_bank_bytes, PROT_NONE, 0));
    dram_next = chip.dram_alignment;  // address 0 stays invalid
}

uint32_t DeviceBuffer::bank_count() const {
    if (placement == Placement::sharded) return static_cast<uint32_t>(banks.size());
    return is_dram ? chip().dram_banks : chip().columns * chip().rows;
}

void DeviceBuffer::locate(uint32_t page, uint32_t& bank, uint64_t& offset) const {
    const uint32_t count = bank_count();
    if (placement == Placement::interleaved) {
        bank = page % count;
        offset = uint64_t{page / count} * aligned_page_bytes;
        return;
    }
    // Row-major over the shape: which shard, and which page of it.
    uint32_t shard_number = 0, inside = 0, shard_pages = 1, rest = page;
    std::vector<uint32_t> index(shape.size());
    for (size_t axis = shape.size(); axis-- > 0;) {
        index[axis] = rest % shape[axis];
        rest /= shape[axis];
    }
    for (size_t axis = 0; axis < shape.size(); ++axis) {
        shard_number = shard_number * ((shape[axis] + shard[axis] - 1) / shard[axis]) + index[axis] / shard[axis];
        inside = inside * shard[axis] + index[axis] % shard[axis];
        shard_pages *= shard[axis];
    }
    bank = banks[shard_number % count];
    offset = (uint64_t{shard_number / count} * shard_pages + inside) * aligned_page_bytes;
}

uint32_t DeviceBuffer::bytes_per_bank() const {
    const uint32_t count = bank_count();
    if (placement == Placement::interleaved) return rounded_up(pages, count) / count * aligned_page_bytes;
    uint32_t shards = 1, shard_pages = 1;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
        shards *= (shape[axis] + shard[axis] - 1) / shard[axis];
        shard_pages *= shard[axis];
    }
    return rounded_up(shards, count) / count * shard_pages * aligned_page_bytes;
}

void Memory::allocate(DeviceBuffer& buffer) {
    if (buffer.page_bytes == 0 || buffer.bytes % buffer.page_bytes)
        fail_host(text("a buffer of %llu bytes has pages of %u: it must hold whole pages",
                       static_cast<unsigned long long>(buffer.bytes), buffer.page_bytes));
    buffer.pages = static_cast<uint32_t>(buffer.bytes / buffer.page_bytes);
    buffer.aligned_page_bytes = rounded_up(buffer.page_bytes, buffer.is_dram ? chip.dram_alignment : l1_alignment);
    const uint32_t bytes = buffer.bytes_per_bank();
    if (buffer.is_dram) {
        if (uint64_t{dram_next} + bytes > chip.dram_bank_bytes)
            fail_host(text("DRAM is full: a buffer wants %u bytes of each bank", bytes));
        buffer.address = dram_next;
        dram_next = rounded_up(uint64_t{dram_next} + bytes, chip.dram_alignment);
        for (uint8_t* bank : banks) mprotect(bank, rounded_up(dram_next, 4096), PROT_READ | PROT_WRITE);
    } else {
        const uint32_t wanted = rounded_up(bytes, 32);
        if (wanted > l1_top - chip.l1_reserved)
            fail_host(text("L1 is full: a buffer wants %u bytes of each core, %u are free", wanted,
                           l1_top - chip.l1_reserved));
        l1_top -= wanted;
        buffer.address = l1_top;
    }
    buffers.push_back(&buffer);
    for (uint32_t page_number = 0; page_number < buffer.pages; ++page_number) {
        auto* words = reinterpret_cast<uint32_t*>(page(buffer, page_number));
        std::fill(words, words + buffer.aligned_page_bytes / 4, poison);
    }
}

void Memory::release(DeviceBuffer& buffer) {
    buffers.erase(std::remove(buffers.begin(), buffers.end(), &buffer), buffers.end());
    if (!buffer.is_dram && buffer.address == l1_top) {
        l1_top = chip.l1_bytes;
        for (const DeviceBuffer* other : buffers)
            if (!other->is_dram) l1_top = std::min(l1_top, other->address);
    }
}

uint8_t* Memory::page(const DeviceBuffer& buffer, uint32_t page) const {
    uint32_t bank = 0;
    uint64_t offset = 0;
    buffer.locate(page, bank, offset);
    return (buffer.is_dram ? banks[bank] : l1(bank)) + buffer.address + offset;
}

const DeviceBuffer* Memory::at_address(uint32_t address, bool is_dram) const {
    for (const DeviceBuffer* buffer : buffers)
        if (buffer->is_dram == is_dram && buffer->address == address) return buffer;
    return nullptr;
}
}  // namespace tt_sim
