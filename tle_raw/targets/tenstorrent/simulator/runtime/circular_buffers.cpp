// The rules of circular buffers: reserve before push, wait before pop, one producer, one consumer, whole laps.
#include <algorithm>
#include <cstring>

#include "core.hpp"
#include "failure.hpp"
#include "memory.hpp"
#include "registers.hpp"
#include "scheduler.hpp"
#include "simulator/circular_buffer_calls.h"

namespace tt_sim {
namespace {
CircularBuffer& buffer_of(Role& role, uint32_t id, const char* call, Site site) {
    if (id >= max_buffers) fail(site, text("%s(%u): a core has circular buffers 0 to 31", call, id));
    CircularBuffer& buffer = role.core->buffers[id];
    if (!buffer.exists())
        fail(site, text("%s(%u): the host program made no circular buffer %u on this core", call, id, id));
    return buffer;
}

uint8_t* slot_memory(const Role& role, const CircularBuffer& buffer, uint32_t number) {
    return role.core->l1 + buffer.address + buffer.slot(number) * buffer.page_bytes;
}

void check_pages(const CircularBuffer& buffer, uint32_t pages, const char* call, Site site) {
    if (pages == 0 || pages > buffer.pages)
        fail(site, text("%s(%u, %u): the buffer has %u pages, so that this can never be", call, buffer.id, pages,
                        buffer.pages));
}

// Addresses are not checked by the hardware: a step over the end of the buffer goes into whatever lies behind it.
void check_lap(const CircularBuffer& buffer, uint32_t number, uint32_t pages, const char* call, Site site) {
    if (buffer.slot(number) + pages > buffer.pages)
        fail(site,
             text("%s(%u, %u): from page %u of %u this steps over the end of the buffer; counts must divide a lap",
                  call, buffer.id, pages, buffer.slot(number), buffer.pages));
}

void check_alone(Role*& owner, Role& role, const CircularBuffer& buffer, const char* side, Site site) {
    if (owner && owner != &role)
        fail(site, text("circular buffer %u has two %ss: %s and %s", buffer.id, side, owner->file.c_str(),
                        role.file.c_str()));
    owner = &role;
}

// Transfers of this kernel that touch the pages while the network may still use them.
const Transfer* in_flight(const Role& role, const CircularBuffer& buffer, uint32_t number, uint32_t pages,
                          bool landing) {
    const uint8_t* begin = slot_memory(role, buffer, number);
    const uint8_t* end = begin + size_t{pages} * buffer.page_bytes;
    for (const Transfer& transfer : role.transfers) {
        const uint8_t* at = landing ? transfer.to : transfer.from;
        if (transfer.is_read == landing && !(transfer.flushed && !landing) && at < end && at + transfer.bytes > begin)
            return &transfer;
    }
    return nullptr;
}

bool is_poison(const uint8_t* page, uint32_t bytes) {
    for (uint32_t at = 0; at + 4 <= bytes; at += 4)
        if (std::memcmp(page + at, &poison, 4) != 0) return false;
    return true;
}
}  // namespace

void reserve_back(uint32_t id, uint32_t pages, Site site) {
    Role& role = running("cb_reserve_back", site);
    CircularBuffer& buffer = buffer_of(role, id, "cb_reserve_back", site);
    check_pages(buffer, pages, "cb_reserve_back", site);
    {
        std::lock_guard lock(role.core->mutex);
        check_alone(buffer.producer, role, buffer, "producer", site);
    }
    role.producing().work(buffer_call);
    block({.kind = Wait::reserve, .buffer = &buffer, .pages = pages, .site = site});
    std::lock_guard lock(role.core->mutex);
    for (uint32_t number = buffer.pushed + buffer.reserved; number < buffer.pushed + pages; ++number) {
        buffer.written[buffer.slot(number)] = false;
        if (!buffer.borrowed && role.processor != Processor::compute) {
            auto* words = reinterpret_cast<uint32_t*>(slot_memory(role, buffer, number));
            std::fill(words, words + buffer.page_bytes / 4, poison);
        }
        role.producing().wait_until(buffer.pop_time[buffer.slot(number)]);
    }
    buffer.reserved = std::max(buffer.reserved, pages);
}

void push_back(uint32_t id, uint32_t pages, Site site) {
    Role& role = running("cb_push_back", site);
    CircularBuffer& buffer = buffer_of(role, id, "cb_push_back", site);
    {
        std::lock_guard lock(role.core->mutex);
        if (pages == 0 || pages > buffer.reserved)
            fail(site,
                 text("cb_push_back(%u, %u): cb_reserve_back reserved %u pages before it", id, pages, buffer.reserved));
        check_lap(buffer, buffer.pushed, pages, "cb_push_back", site);
        if (const Transfer* transfer = in_flight(role, buffer, buffer.pushed, pages, true))
            fail(site, text("cb_push_back(%u, %u) while a read into these pages (line %u) is still in flight: "
                            "noc_async_read_barrier is missing",
                            id, pages, transfer->site.line));
        for (uint32_t number = buffer.pushed; number < buffer.pushed + pages; ++number) {
            const bool untouched =
                role.processor == Processor::compute || is_poison(slot_memory(role, buffer, number), buffer.page_bytes);
            if (!buffer.borrowed && !buffer.written[buffer.slot(number)] && untouched)
                fail(site, text("cb_push_back(%u, %u): nothing was written to page %u since it was reserved", id, pages,
                                buffer.slot(number)));
            buffer.push_time[buffer.slot(number)] = role.producing().clock;
        }
        buffer.reserved -= pages;
        buffer.pushed += pages;
        if (role.compute) role.compute->packed[id] = 0;
    }
    role.producing().work(buffer_call);
    wake(*role.core);
}

void wait_front(uint32_t id, uint32_t pages, Site site) {
    Role& role = running("cb_wait_front", site);
    CircularBuffer& buffer = buffer_of(role, id, "cb_wait_front", site);
    check_pages(buffer, pages, "cb_wait_front", site);
    {
        std::lock_guard lock(role.core->mutex);
        check_alone(buffer.consumer, role, buffer, "consumer", site);
    }
    role.consuming().work(buffer_call);
    block({.kind = Wait::front, .buffer = &buffer, .pages = pages, .site = site});
    std::lock_guard lock(role.core->mutex);
    for (uint32_t number = buffer.popped + buffer.waited; number < buffer.popped + pages; ++number)
        role.consuming().wait_until(buffer.push_time[buffer.slot(number)]);
    buffer.waited = std::max(buffer.waited, pages);
}

void pop_front(uint32_t id, uint32_t pages, Site site) {
    Role& role = running("cb_pop_front", site);
    CircularBuffer& buffer = buffer_of(role, id, "cb_pop_front", site);
    {
        std::lock_guard lock(role.core->mutex);
        if (pages == 0 || pages > buffer.waited)
            fail(site,
                 text("cb_pop_front(%u, %u): cb_wait_front waited for %u pages before it", id, pages, buffer.waited));
        check_lap(buffer, buffer.popped, pages, "cb_pop_front", site);
        if (const Transfer* transfer = in_flight(role, buffer, buffer.popped, pages, false))
            fail(site, text("cb_pop_front(%u, %u) while a write from these pages (line %u) is still in flight: "
                            "noc_async_write_barrier is missing",
                            id, pages, transfer->site.line));
        for (uint32_t number = buffer.popped; number < buffer.popped + pages; ++number)
            buffer.pop_time[buffer.slot(number)] = role.consuming().clock;
        buffer.waited -= pages;
        buffer.popped += pages;
    }
    role.consuming().work(buffer_call);
    wake(*role.core);
}

bool pages_reservable(uint32_t id, uint32_t pages, Site site) {
    Role& role = running("cb_pages_reservable_at_back", site);
    CircularBuffer& buffer = buffer_of(role, id, "cb_pages_reservable_at_back", site);
    yield_now();
    std::lock_guard lock(role.core->mutex);
    return buffer.pages - buffer.filled() >= pages;
}

bool pages_available(uint32_t id, uint32_t pages, Site site) {
    Role& role = running("cb_pages_available_at_front", site);
    CircularBuffer& buffer = buffer_of(role, id, "cb_pages_available_at_front", site);
    yield_now();
    std::lock_guard lock(role.core->mutex);
    return buffer.filled() >= pages;
}

uint32_t page_bytes(uint32_t id, Site site) {
    return buffer_of(running("get_tile_size", site), id, "get_tile_size", site).page_bytes;
}
tt::DataFormat data_format(uint32_t id, Site site) {
    return buffer_of(running("get_dataformat", site), id, "get_dataformat", site).format;
}

uint32_t write_pointer(uint32_t id, Site site) {
    Role& role = running("get_write_ptr", site);
    const CircularBuffer& buffer = buffer_of(role, id, "get_write_ptr", site);
    std::lock_guard lock(role.core->mutex);
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(slot_memory(role, buffer, buffer.pushed)));
}

uint32_t read_pointer(uint32_t id, Site site) {
    Role& role = running("get_read_ptr", site);
    const CircularBuffer& buffer = buffer_of(role, id, "get_read_ptr", site);
    std::lock_guard lock(role.core->mutex);
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(slot_memory(role, buffer, buffer.popped)));
}

namespace {
uint32_t argument(const std::vector<uint32_t>& arguments, int index, const char* call, Site site) {
    if (index < 0 || static_cast<size_t>(index) >= arguments.size())
        fail(site, text("%s(%d): the host program set %zu arguments", call, index, arguments.size()));
    return arguments[static_cast<size_t>(index)];
}
}  // namespace

uint32_t runtime_argument(int index, Site site) {
    return argument(running("get_arg_val", site).arguments, index, "get_arg_val", site);
}
uint32_t common_runtime_argument(int index, Site site) {
    return argument(running("get_common_arg_val", site).common_arguments, index, "get_common_arg_val", site);
}
}  // namespace tt_sim
