// Clocks of the cycle estimate.
#include "core.hpp"
#include "registers.hpp"

namespace tt_sim {
namespace {
constexpr size_t most_intervals = 4000;

void note(Lane& lane, Interval::Kind kind, double start, double end) {
    if (!lane.intervals.empty() && lane.intervals.back().kind == kind && start - lane.intervals.back().end < 1) {
        lane.intervals.back().end = end;
    } else if (lane.intervals.size() < most_intervals) {
        lane.intervals.push_back({kind, start, end});
    }
}
}  // namespace

void Lane::work(double cycles, Interval::Kind kind) {
    note(*this, kind, clock, clock + cycles);
    clock += cycles;
    busy += cycles;
}

void Lane::wait_until(double cycle, Interval::Kind kind) {
    if (cycle <= clock) return;
    note(*this, kind, clock, cycle);
    waited += cycle - clock;
    clock = cycle;
}

Role::Role() = default;
Role::~Role() = default;
Lane& Role::producing() { return compute ? compute->pack : lane; }
Lane& Role::consuming() { return compute ? compute->unpack : lane; }
}  // namespace tt_sim
