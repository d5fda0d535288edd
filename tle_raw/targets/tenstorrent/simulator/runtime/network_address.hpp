// Addresses on the network: a DRAM bank or a rectangle of cores, and an offset in its memory.
#pragma once
#include <vector>

#include "core.hpp"

namespace tt_sim {
struct NetworkAddress {
    bool is_dram = false, is_multicast = false;
    uint32_t x = 0, y = 0, x_end = 0, y_end = 0;  // x: the bank, in DRAM
    uint32_t offset = 0;
};
uint64_t pack_address(const NetworkAddress& address);
NetworkAddress unpack_address(uint64_t packed);
// By network coordinates: a core of the program that runs, null where it has none there, or an error.
Core* core_or_null(uint32_t x, uint32_t y);
Core& core_at(uint32_t x, uint32_t y, const char* call, Site site);
std::vector<Core*> multicast_targets(uint64_t to, uint32_t destinations, bool with_source, const char* call, Site site);

void land_writes_to(Role& role, const Core& target);
const Transfer* write_in_flight_to(const Role& role, const Core& target);
// The cores of the program that runs.
extern std::vector<std::unique_ptr<Core>> cores_of_program;
}  // namespace tt_sim
