#include "scheduler.hpp"

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdlib>

#include "checks.hpp"
#include "failure.hpp"

namespace tt_sim {
namespace {
constexpr size_t stack_bytes = 256 * 1024;

ucontext_t scheduler_context;
std::vector<Role*> all;
std::atomic<uint32_t> alive{0}, waiting{0};
std::atomic<uint64_t> progress{0};

// With the core's mutex held, where there are threads.
bool is_ready(const Wait& wait) {
    switch (wait.kind) {
        case Wait::none: return true;
        case Wait::reserve: return wait.buffer->pages - wait.buffer->filled() >= wait.pages;
        case Wait::front: return wait.buffer->filled() >= wait.pages;
        case Wait::semaphore: break;
    }
    const uint32_t now = __atomic_load_n(wait.word, __ATOMIC_ACQUIRE);
    return wait.at_least ? now >= wait.value : now == wait.value;
}

void enter(uint32_t low, uint32_t high) {
    auto* role = reinterpret_cast<Role*>(uint64_t{low} | uint64_t{high} << 32);
    role->entry();
    check_end_of_kernel(*role);
    role->finished = true;
    swapcontext(&role->context, &scheduler_context);
}

void run_in_turns() {
    for (Role* role : all) {
        role->stack =
            mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (role->stack == MAP_FAILED) fail_host("the system gave no memory for a kernel's stack");
        getcontext(&role->context);
        role->context.uc_stack = {role->stack, 0, stack_bytes};
        role->context.uc_link = nullptr;
        const auto bits = reinterpret_cast<uint64_t>(role);
        makecontext(&role->context, reinterpret_cast<void (*)()>(enter), 2, static_cast<uint32_t>(bits),
                    static_cast<uint32_t>(bits >> 32));
    }
    for (bool more = true, moved; more;) {
        more = moved = false;
        for (Role* role : all) {
            if (role->finished) continue;
            more = true;
            if (!is_ready(role->wait)) continue;
            moved = true;
            role->wait.kind = Wait::none;
            current = role;
            swapcontext(&scheduler_context, &role->context);
            current = nullptr;
        }
        if (more && !moved) stop_with(deadlock_report(all));
    }
    for (Role* role : all) munmap(role->stack, stack_bytes);
}

void wait_on_thread(Role& role) {
    using namespace std::chrono_literals;
    Core& core = *role.core;
    std::unique_lock lock(core.mutex);
    if (is_ready(role.wait)) return;
    ++waiting;
    uint64_t seen = progress;
    for (int quiet = 0; !is_ready(role.wait);) {
        core.changed.wait_for(lock, 10ms);
        const bool still = waiting == alive && progress == seen;
        seen = progress;
        quiet = still ? quiet + 1 : 0;
        if (quiet == 20) {
            lock.unlock();
            stop_with(deadlock_report(all));
        }
    }
    --waiting;
    ++progress;
    role.wait.kind = Wait::none;
}

void run_on_threads() {
    alive = static_cast<uint32_t>(all.size());
    for (Role* role : all) {
        role->thread = std::thread([role] {
            current = role;
            role->entry();
            check_end_of_kernel(*role);
            std::lock_guard lock(role->core->mutex);
            role->finished = true;
            --alive;
            ++progress;
        });
    }
    for (Role* role : all) role->thread.join();
}
}  // namespace

// ThreadSanitizer does not follow a thread that changes its stack.
#if defined(__SANITIZE_THREAD__)
#define TT_SIM_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TT_SIM_SANITIZED 1
#endif
#endif

bool threaded() {
#ifdef TT_SIM_SANITIZED
    return true;
#else
    static const bool chosen = [] {
        const char* asked = std::getenv("TT_SIM_THREADS");
        return asked && *asked == '1';
    }();
    return chosen;
#endif
}

void block(const Wait& wait) {
    Role& role = *current;
    if (threaded()) {
        {
            std::lock_guard lock(role.core->mutex);
            role.wait = wait;
        }
        wait_on_thread(role);
        return;
    }
    role.wait = wait;
    if (is_ready(wait)) {
        role.wait.kind = Wait::none;
        return;
    }
    swapcontext(&role.context, &scheduler_context);
}

void yield_now() {
    if (threaded()) {
        std::this_thread::yield();
    } else {
        swapcontext(&current->context, &scheduler_context);
    }
}

void wake(Core& core) {
    ++progress;
    if (threaded()) core.changed.notify_all();
}

void run_all(const std::vector<std::unique_ptr<Core>>& cores) {
    all.clear();
    for (const auto& core : cores)
        for (const auto& role : core->roles) all.push_back(role.get());
    threaded() ? run_on_threads() : run_in_turns();
    for (const auto& core : cores) check_end_of_program(*core);
}
}  // namespace tt_sim
