// Who runs when: all kernels in turn on one thread, or each on a thread of its own (TT_SIM_THREADS=1, and always under
// ThreadSanitizer).
#pragma once
#include <memory>
#include <vector>

#include "core.hpp"

namespace tt_sim {
bool threaded();
// Until what is waited for is there; the report of a deadlock names it.
void block(const Wait& wait);
// Lets others go on, in a loop that polls.
void yield_now();
// Something changed that a kernel of this core may wait for.
void wake(Core& core);
// Runs all kernels of all cores to their ends.
void run_all(const std::vector<std::unique_ptr<Core>>& cores);

std::string deadlock_report(const std::vector<Role*>& roles);  // deadlock.cpp
}  // namespace tt_sim
