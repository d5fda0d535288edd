// Semaphores: words in the reserved part of L1.
#include "failure.hpp"
#include "memory.hpp"
#include "network_address.hpp"
#include "scheduler.hpp"
#include "simulator/noc_calls.h"

namespace tt_sim {
namespace {
uint32_t semaphore_offset(uint32_t id) { return chip().l1_reserved - (max_semaphores - id) * semaphore_stride; }

// Which semaphore of which core, or an error.
uint32_t id_of(const Core& core, uint32_t offset, const char* call, Site site) {
    for (uint32_t id = 0; id < max_semaphores; ++id)
        if (core.semaphores[id] && semaphore_offset(id) == offset) return id;
    fail(site, text("%s: L1 offset 0x%x of %s is no semaphore of the program", call, offset, name_of(core).c_str()));
}

volatile uint32_t* word(const Core& core, uint32_t id) {
    return reinterpret_cast<volatile uint32_t*>(core.l1 + semaphore_offset(id));
}

void raise(Core& core, uint32_t id, uint32_t value, bool add) {
    {
        std::lock_guard lock(core.mutex);
        add ? __atomic_fetch_add(word(core, id), value, __ATOMIC_ACQ_REL)
            : (__atomic_store_n(word(core, id), value, __ATOMIC_RELEASE), 0u);
        core.semaphore_time[id] =
            std::max(core.semaphore_time[id], current->lane.clock + (&core == current->core ? 0 : noc_latency));
    }
    wake(core);
}

uint32_t local_value(uint32_t local, const char* call, Site site) {
    Core& core = *current->core;
    return __atomic_load_n(word(core, id_of(core, local % l1_window, call, site)), __ATOMIC_ACQUIRE);
}

void check_landed(const Core& target, const char* call, Site site) {
    if (const Transfer* transfer = write_in_flight_to(*current, target))
        fail(site,
             text("%s tells %s of data that a write (line %u) has not brought yet: noc_async_write_barrier is missing",
                  call, name_of(target).c_str(), transfer->site.line));
}
}  // namespace

void start_semaphore(Core& core, uint32_t id, uint32_t value) {
    core.semaphores[id] = true;
    *word(core, id) = value;
}

uint32_t semaphore_address(uint32_t id, Site site) {
    Role& role = running("get_semaphore", site);
    if (id >= max_semaphores || !role.core->semaphores[id])
        fail(site, text("get_semaphore(%u): the host program made no semaphore %u on this core", id, id));
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(role.core->l1)) + semaphore_offset(id);
}

void semaphore_set(volatile uint32_t* semaphore, uint32_t value, Site site) {
    Role& role = running("noc_semaphore_set", site);
    raise(*role.core,
          id_of(*role.core, static_cast<uint32_t>(reinterpret_cast<uint64_t>(semaphore)) % l1_window,
                "noc_semaphore_set", site),
          value, false);
}

void semaphore_wait(volatile uint32_t* semaphore, uint32_t value, bool at_least, Site site) {
    Role& role = running("noc_semaphore_wait", site);
    const uint32_t id = id_of(*role.core, static_cast<uint32_t>(reinterpret_cast<uint64_t>(semaphore)) % l1_window,
                              "noc_semaphore_wait", site);
    block({.kind = Wait::semaphore, .word = semaphore, .value = value, .at_least = at_least, .site = site});
    std::lock_guard lock(role.core->mutex);
    role.lane.wait_until(role.core->semaphore_time[id]);
}

void semaphore_increase(uint64_t at, uint32_t by, Site site) {
    running("noc_semaphore_inc", site).lane.work(noc_issue, Interval::noc);
    const NetworkAddress address = unpack_address(at);
    Core& core = core_at(address.x, address.y, "noc_semaphore_inc", site);
    check_landed(core, "noc_semaphore_inc", site);
    raise(core, id_of(core, address.offset, "noc_semaphore_inc", site), by, true);
}

void semaphore_set_remote(uint32_t local, uint64_t at, Site site) {
    running("noc_semaphore_set_remote", site).lane.work(noc_issue, Interval::noc);
    const NetworkAddress address = unpack_address(at);
    Core& core = core_at(address.x, address.y, "noc_semaphore_set_remote", site);
    check_landed(core, "noc_semaphore_set_remote", site);
    raise(core, id_of(core, address.offset, "noc_semaphore_set_remote", site),
          local_value(local, "noc_semaphore_set_remote", site), false);
}

void semaphore_set_multicast(uint32_t local, uint64_t at, uint32_t destinations, bool with_source, Site site) {
    Role& role = running("noc_semaphore_set_multicast", site);
    role.lane.work(noc_issue, Interval::noc);
    const uint32_t value = local_value(local, "noc_semaphore_set_multicast", site);
    for (Core* core : multicast_targets(at, destinations, with_source, "noc_semaphore_set_multicast", site)) {
        land_writes_to(role, *core);  // multicasts of one kernel arrive in their order
        raise(*core, id_of(*core, unpack_address(at).offset, "noc_semaphore_set_multicast", site), value, false);
    }
}
}  // namespace tt_sim
