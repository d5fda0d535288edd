#include "checks.hpp"

#include "failure.hpp"
#include "registers.hpp"

namespace tt_sim {
void check_end_of_kernel(const Role& role) {
    for (const Transfer& transfer : role.transfers)
        fail(transfer.site, text("the kernel ended with this %s still in flight: noc_async_%s_barrier is missing",
                                 transfer.is_read ? "read" : "write", transfer.is_read ? "read" : "write"));
    if (role.compute && role.compute->held())
        fail(role.compute->acquired_at,
             "the kernel ended with these destination registers held: tile_regs_release is missing");
}

void check_end_of_program(const Core& core) {
    for (const CircularBuffer& buffer : core.buffers) {
        if (!buffer.exists() || buffer.filled() <= buffer.waited) continue;
        const char* consumer = buffer.consumer ? buffer.consumer->file.c_str() : "no kernel";
        stop_with(
            text("simulation stopped: %s: circular buffer %u ends with %u pages that nobody waited for (%s pushed %u, "
                 "%s popped %u)",
                 name_of(core).c_str(), buffer.id, buffer.filled() - buffer.waited, buffer.producer->file.c_str(),
                 buffer.pushed, consumer, buffer.popped));
    }
}
}  // namespace tt_sim
