#include "network_address.hpp"

#include "failure.hpp"
#include "memory.hpp"
#include "simulator/noc_calls.h"

namespace tt_sim {
std::vector<std::unique_ptr<Core>> cores_of_program;

// Bits: 0-31 offset, 32-37 x, 38-43 y, 44-49 x_end, 50-55 y_end, 62 multicast, 63 DRAM.
uint64_t pack_address(const NetworkAddress& at) {
    return uint64_t{at.offset} | uint64_t{at.x} << 32 | uint64_t{at.y} << 38 | uint64_t{at.x_end} << 44 |
           uint64_t{at.y_end} << 50 | uint64_t{at.is_multicast} << 62 | uint64_t{at.is_dram} << 63;
}

NetworkAddress unpack_address(uint64_t packed) {
    auto field = [&](int from) { return static_cast<uint32_t>(packed >> from & 63); };
    return {(packed >> 63) != 0, (packed >> 62 & 1) != 0,      field(32), field(38), field(44),
            field(50),           static_cast<uint32_t>(packed)};
}

Core* core_or_null(uint32_t x, uint32_t y) {
    for (const auto& core : cores_of_program)
        if (core->x + first_coordinate == x && core->y + first_coordinate == y) return core.get();
    return nullptr;
}

Core& core_at(uint32_t x, uint32_t y, const char* call, Site site) {
    if (Core* core = core_or_null(x, y)) return *core;
    fail(site, text("%s: (%u,%u) are no network coordinates of a core of this program; logical coordinates need "
                    "worker_core_from_logical_core",
                    call, x, y));
}

std::vector<Core*> multicast_targets(uint64_t to, uint32_t destinations, bool with_source, const char* call,
                                     Site site) {
    const NetworkAddress at = unpack_address(to);
    if (!at.is_multicast) fail(site, text("%s to an address that is not from get_noc_multicast_addr", call));
    std::vector<Core*> targets;
    // A rectangle may be given from either corner, as the two networks want.
    for (uint32_t y = std::min(at.y, at.y_end); y <= std::max(at.y, at.y_end); ++y)
        for (uint32_t x = std::min(at.x, at.x_end); x <= std::max(at.x, at.x_end); ++x) {
            Core& core = core_at(x, y, call, site);
            if (with_source || &core != current->core) targets.push_back(&core);
        }
    if (targets.size() != destinations)
        fail(site, text("%s: %u destinations are announced, the rectangle has %zu%s: the barrier would wait for ever",
                        call, destinations, targets.size(), with_source ? "" : " without the sender"));
    return targets;
}

uint64_t core_address(uint32_t x, uint32_t y, uint32_t local) {
    return pack_address({.x = x, .y = y, .offset = local % l1_window});
}
uint64_t multicast_address(uint32_t x_start, uint32_t y_start, uint32_t x_end, uint32_t y_end, uint32_t local) {
    return pack_address({.is_multicast = true,
                         .x = x_start,
                         .y = y_start,
                         .x_end = x_end,
                         .y_end = y_end,
                         .offset = local % l1_window});
}
uint32_t own_coordinate(bool y, bool logical) {
    return (y ? current->core->y : current->core->x) + (logical ? 0 : first_coordinate);
}
}  // namespace tt_sim
