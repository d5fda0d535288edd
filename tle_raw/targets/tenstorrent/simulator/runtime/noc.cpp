// Copies over the network on chip: they land at the barrier of the kernel that asked for them, never before.
#include <algorithm>
#include <cstring>

#include "core.hpp"
#include "failure.hpp"
#include "memory.hpp"
#include "network_address.hpp"
#include "scheduler.hpp"
#include "simulator/noc_calls.h"

namespace tt_sim {
namespace {
// What is at a local address: within L1, and within the pages that the kernel reserved (to write) or waited for (to
// read).
uint8_t* local_memory(const Role& role, uint32_t local, uint32_t bytes, bool to_write, const char* call, Site site) {
    const Core& core = *role.core;
    const uint64_t window = reinterpret_cast<uint64_t>(core.l1);
    if (local < window || local - window + bytes > chip().l1_bytes)
        fail(site, text("%s: the local address 0x%x (%u bytes) is not in this core's L1", call, local, bytes));
    const auto offset = static_cast<uint32_t>(local - window);
    if (offset < chip().l1_reserved)
        fail(site, text("%s: L1 offset 0x%x belongs to the firmware (the first 0x%x bytes)", call, offset,
                        chip().l1_reserved));
    for (const CircularBuffer& buffer : core.buffers) {
        if (!buffer.exists() || offset < buffer.address || offset >= buffer.address + buffer.pages * buffer.page_bytes)
            continue;
        if (buffer.borrowed) break;
        const uint32_t first = to_write ? buffer.pushed : buffer.popped,
                       held = to_write ? buffer.reserved : buffer.waited;
        const uint32_t slot = (offset - buffer.address) / buffer.page_bytes,
                       last = (offset + bytes - 1 - buffer.address) / buffer.page_bytes;
        const uint32_t start = buffer.slot(first);
        if (slot < start || last >= start + held || last >= buffer.pages)
            fail(site,
                 text("%s touches pages %u to %u of circular buffer %u; %u pages from page %u on are %s: %s", call,
                      slot, last, buffer.id, held, start, to_write ? "reserved" : "waited for",
                      to_write ? "cb_reserve_back is missing or too small" : "cb_wait_front is missing or too small"));
        break;
    }
    return core.l1 + offset;
}

// Of a copy that lands: the pages must be reserved, by whoever fills the buffer on that core.
void mark_written(Core& core, const Transfer& transfer) {
    for (CircularBuffer& buffer : core.buffers) {
        const uint8_t* begin = core.l1 + buffer.address;
        if (!buffer.exists() || buffer.borrowed || transfer.to < begin ||
            transfer.to >= begin + buffer.pages * buffer.page_bytes)
            continue;
        const auto first = static_cast<uint32_t>(transfer.to - begin) / buffer.page_bytes;
        const auto last = static_cast<uint32_t>(transfer.to - begin + transfer.bytes - 1) / buffer.page_bytes;
        const uint32_t start = buffer.slot(buffer.pushed);
        if (first < start || last >= start + buffer.reserved || last >= buffer.pages)
            fail(transfer.site, text("the copy lands in pages %u to %u of circular buffer %u of %s, which has reserved "
                                     "%u from page %u on",
                                     first, last, buffer.id, name_of(core).c_str(), buffer.reserved, start));
        for (uint32_t slot = first; slot <= last; ++slot) buffer.written[slot] = true;
    }
}

void check_alignment(uint32_t local, const NetworkAddress& remote, uint32_t alignment, const char* call, Site site) {
    if (local % alignment != remote.offset % alignment)
        fail(site, text("%s between L1 offset 0x%x and offset 0x%x of %s: both must lie alike within %u bytes", call,
                        local % l1_window, remote.offset, remote.is_dram ? "DRAM" : "the other L1", alignment));
}

void issue(Role& role, Transfer transfer, bool dram) {
    const double rate = dram ? std::min(noc_bytes_per_cycle, role.core->dram_bytes_per_cycle) : noc_bytes_per_cycle;
    role.lane.work(noc_issue, Interval::noc);
    role.network_free = std::max(role.network_free, role.lane.clock) + transfer.bytes / rate;
    transfer.done = role.network_free + (dram ? dram_latency : noc_latency);
    (dram ? role.dram_bytes : role.noc_bytes) += transfer.bytes;
    role.transfers.push_back(std::move(transfer));
}

void land(Role& role, const Transfer& transfer) {
    Core* target = transfer.is_read ? role.core : transfer.target;
    std::memcpy(transfer.to, transfer.flushed ? transfer.departed.data() : transfer.from, transfer.bytes);
    if (!target) return;
    std::lock_guard lock(target->mutex);
    mark_written(*target, transfer);
}

void land_all(Role& role, bool reads) {
    for (const Transfer& transfer : role.transfers) {
        if (transfer.is_read != reads) continue;
        land(role, transfer);
        role.lane.wait_until(transfer.done, Interval::flight);
    }
    std::erase_if(role.transfers, [&](const Transfer& t) { return t.is_read == reads; });
    role.lane.work(barrier_check);
}

// Where a network address points, for copies of this many bytes.
uint8_t* remote_memory(const NetworkAddress& at, uint32_t bytes, const char* call, Site site) {
    if (!at.is_dram) {
        // Also of a core that runs no kernel: buffers of the host may lie there.
        const uint32_t x = at.x - first_coordinate, y = at.y - first_coordinate;
        if (x >= chip().columns || y >= chip().rows) core_at(at.x, at.y, call, site);
        if (at.offset + bytes > chip().l1_bytes || at.offset < chip().l1_reserved)
            fail(site, text("%s: L1 offset 0x%x (%u bytes) of core (%u,%u) is outside of what kernels may use", call,
                            at.offset, bytes, x, y));
        return memory().l1(y * chip().columns + x) + at.offset;
    }
    for (const DeviceBuffer* buffer : memory().buffers)
        if (buffer->is_dram && at.offset >= buffer->address &&
            at.offset + bytes <= buffer->address + buffer->bytes_per_bank())
            return memory().banks[at.x] + at.offset;
    fail(site, text("%s: DRAM address 0x%x (%u bytes) of bank %u lies in no buffer of the host program", call,
                    at.offset, bytes, at.x));
}

const DeviceBuffer& buffer_of(const PageAccess& access, uint32_t page, uint32_t offset, const char* call, Site site) {
    const DeviceBuffer* buffer = memory().at_address(access.address, access.words.is_dram);
    if (!buffer)
        fail(site, text("%s: no buffer in %s begins at address 0x%x", call, access.words.is_dram ? "DRAM" : "L1",
                        access.address));
    if (access.words.is_sharded != (buffer->placement == Placement::sharded))
        fail(site, text("%s: the buffer is %s, the accessor's words say the other", call,
                        access.words.is_sharded ? "interleaved" : "sharded"));
    if (access.words.aligned_page_bytes != buffer->aligned_page_bytes)
        fail(site, text("%s: the accessor's pages have %u bytes, the buffer's %u", call,
                        access.words.aligned_page_bytes, buffer->aligned_page_bytes));
    if (page >= buffer->pages)
        fail(site, text("%s: page %u is outside of the tensor, which has %u pages", call, page, buffer->pages));
    if (access.page_bytes + offset > buffer->aligned_page_bytes)
        fail(site, text("%s: %u bytes at offset %u go over the end of the page, which has %u", call, access.page_bytes,
                        offset, buffer->page_bytes));
    return *buffer;
}

NetworkAddress located(const DeviceBuffer& buffer, uint32_t page, uint32_t offset) {
    uint32_t bank = 0;
    uint64_t inside = 0;
    buffer.locate(page, bank, inside);
    const auto at = static_cast<uint32_t>(buffer.address + inside + offset);
    if (buffer.is_dram) return {.is_dram = true, .x = bank, .offset = at};
    return {.x = first_coordinate + bank % chip().columns, .y = first_coordinate + bank / chip().columns, .offset = at};
}
}  // namespace

uint64_t page_address(const PageAccess& access, uint32_t page, uint32_t offset, Site site) {
    PageAccess whole = access;
    whole.page_bytes = 1;
    return pack_address(located(buffer_of(whole, page, offset, "get_noc_addr", site), page, offset));
}

void read(uint64_t from, uint32_t local, uint32_t bytes, Site site) {
    Role& role = running("noc_async_read", site);
    const NetworkAddress address = unpack_address(from);
    if (address.is_multicast) fail(site, "noc_async_read from a multicast address");
    check_alignment(local, address, address.is_dram ? chip().dram_alignment : l1_alignment, "noc_async_read", site);
    uint8_t* source = remote_memory(address, bytes, "noc_async_read", site);
    uint8_t* target = local_memory(role, local, bytes, true, "noc_async_read", site);
    issue(role,
          {.is_read = true,
           .from = source,
           .to = target,
           .bytes = bytes,
           .target = role.core,
           .departed = {},
           .site = site},
          address.is_dram);
}

void write(uint32_t local, uint64_t to, uint32_t bytes, Site site) {
    Role& role = running("noc_async_write", site);
    const NetworkAddress address = unpack_address(to);
    if (address.is_multicast) fail(site, "noc_async_write to a multicast address: use noc_async_write_multicast");
    check_alignment(local, address, l1_alignment, "noc_async_write", site);
    uint8_t* source = local_memory(role, local, bytes, false, "noc_async_write", site);
    uint8_t* target = remote_memory(address, bytes, "noc_async_write", site);
    Core* core = address.is_dram ? nullptr : core_or_null(address.x, address.y);
    issue(role, {.from = source, .to = target, .bytes = bytes, .target = core, .departed = {}, .site = site},
          address.is_dram);
}

void read_page(const PageAccess& from, uint32_t page, uint32_t local, uint32_t offset, Site site) {
    read(pack_address(located(buffer_of(from, page, offset, "noc_async_read_tile", site), page, offset)), local,
         from.page_bytes - offset, site);
}

void write_page(const PageAccess& to, uint32_t page, uint32_t local, uint32_t offset, Site site) {
    write(local, pack_address(located(buffer_of(to, page, offset, "noc_async_write_tile", site), page, offset)),
          to.page_bytes - offset, site);
}

void write_multicast(uint32_t local, uint64_t to, uint32_t bytes, uint32_t destinations, bool with_source, Site site) {
    Role& role = running("noc_async_write_multicast", site);
    check_alignment(local, unpack_address(to), l1_alignment, "noc_async_write_multicast", site);
    uint8_t* source = local_memory(role, local, bytes, false, "noc_async_write_multicast", site);
    for (Core* core : multicast_targets(to, destinations, with_source, "noc_async_write_multicast", site)) {
        const NetworkAddress one{
            .x = first_coordinate + core->x, .y = first_coordinate + core->y, .offset = unpack_address(to).offset};
        issue(role,
              {.from = source,
               .to = remote_memory(one, bytes, "noc_async_write_multicast", site),
               .bytes = bytes,
               .target = core,
               .departed = {},
               .site = site},
              false);
    }
}

void read_barrier(Site site) { land_all(running("noc_async_read_barrier", site), true); }
void write_barrier(Site site) { land_all(running("noc_async_write_barrier", site), false); }
void atomic_barrier(Site site) { running("noc_async_atomic_barrier", site).lane.work(barrier_check); }

void writes_flushed(Site site) {
    Role& role = running("noc_async_writes_flushed", site);
    for (Transfer& transfer : role.transfers) {
        if (transfer.is_read || transfer.flushed) continue;
        transfer.departed.assign(transfer.from, transfer.from + transfer.bytes);
        transfer.flushed = true;
    }
    role.lane.wait_until(role.network_free, Interval::flight);
}

void land_writes_to(Role& role, const Core& target) {
    for (const Transfer& transfer : role.transfers)
        if (!transfer.is_read && transfer.target == &target) land(role, transfer);
    std::erase_if(role.transfers, [&](const Transfer& t) { return !t.is_read && t.target == &target; });
}

const Transfer* write_in_flight_to(const Role& role, const Core& target) {
    for (const Transfer& transfer : role.transfers)
        if (!transfer.is_read && transfer.target == &target) return &transfer;
    return nullptr;
}
}  // namespace tt_sim
