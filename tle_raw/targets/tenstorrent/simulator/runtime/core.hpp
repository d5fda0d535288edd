// One core: its circular buffers, its destination registers, and the three kernels that run on it.
#pragma once
#include <ucontext.h>

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "chip.hpp"
#include "simulator/formats.h"
#include "simulator/site.h"

namespace tt_sim {
struct Core;
struct Role;

enum class Processor { reader, compute, writer };  // RISCV_1, the three Tensix threads, RISCV_0

struct CircularBuffer {
    uint32_t id = 0, pages = 0, page_bytes = 0, address = 0;  // address: offset in L1
    tt::DataFormat format = tt::DataFormat::Invalid;
    bool borrowed = false;  // lies in a buffer of the host's
    // Pages since the start; the page of number n lies in slot n % pages.
    uint32_t pushed = 0, popped = 0, reserved = 0, waited = 0;
    Role *producer = nullptr, *consumer = nullptr;
    std::vector<bool> written;                // of each slot, since it was reserved
    std::vector<double> push_time, pop_time;  // of each slot, in cycles

    bool exists() const { return pages != 0; }
    uint32_t filled() const { return pushed - popped; }
    uint32_t slot(uint32_t number) const { return number % pages; }
};

struct Wait {
    enum Kind { none, reserve, front, semaphore } kind = none;
    CircularBuffer* buffer = nullptr;
    uint32_t pages = 0;
    volatile uint32_t* word = nullptr;
    uint32_t value = 0;
    bool at_least = false;
    Site site;
};

struct Transfer {
    bool is_read = false, flushed = false;
    uint8_t *from = nullptr, *to = nullptr;
    uint32_t bytes = 0;
    Core* target = nullptr;         // whose L1 it lands in; null for DRAM
    std::vector<uint8_t> departed;  // what was sent, once flushed
    double done = 0;                // cycle
    Site site;
};

struct Interval {
    enum Kind : uint8_t { busy, noc, flight, wait } kind;  // flight: waits for a copy of its own
    double start, end;
};

// A strand of work with a clock: a data movement kernel, or one of unpack, math, pack.
struct Lane {
    const char* name = "";
    double clock = 0, busy = 0, waited = 0;
    std::vector<Interval> intervals;

    void work(double cycles, Interval::Kind kind = Interval::busy);
    void wait_until(double cycle, Interval::Kind kind = Interval::wait);
};

struct DstTile {
    std::array<uint32_t, 1024> bits;        // row-major
    bool integer = false, reduced = false;  // reduced: only a column, row or element of it counts
    bool written = false;
};

struct Compute;  // registers.hpp

struct Role {
    Core* core = nullptr;
    Processor processor = Processor::reader;
    std::string file;  // of the kernel, without its folder
    void (*entry)() = nullptr;
    std::vector<uint32_t> arguments, common_arguments;
    Lane lane;                // of a data movement kernel
    double dram_bytes = 0, noc_bytes = 0;  // moved
    double network_free = 0;  // cycle
    std::vector<Transfer> transfers;
    Wait wait;
    bool finished = false;
    ucontext_t context{};
    void* stack = nullptr;
    std::thread thread;
    std::unique_ptr<Compute> compute;

    Role();
    ~Role();
    Lane& producing();  // whose clock a reserve or push moves
    Lane& consuming();
};

struct Core {
    uint32_t x = 0, y = 0, index = 0;  // logical
    uint8_t* l1 = nullptr;
    std::array<CircularBuffer, max_buffers> buffers;
    std::array<bool, max_semaphores> semaphores{};  // which the program made
    std::array<double, max_semaphores> semaphore_time{};
    std::vector<std::unique_ptr<Role>> roles;
    std::mutex mutex;
    std::condition_variable changed;
    double dram_bytes_per_cycle = 0;  // its share
};

extern thread_local Role* current;  // the kernel that runs on this thread
Role& running(const char* call, Site site);
std::string name_of(const Core& core);  // "core (0,1)"
std::string name_of(const Role& role);  // "core (0,1) reader.cpp"
}  // namespace tt_sim
