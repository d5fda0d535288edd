// One call of a region, from the kernel's side; and what a thread may ask about itself.
#ifndef TLE_RAW_TEAM_RUN_H
#define TLE_RAW_TEAM_RUN_H

#include <tle_raw/team/alignment.h>
#include <tle_raw/team/cluster.h>
#include <tle_raw/team/lockstep.h>
#include <tle_raw/team/matrix.h>
#include <tle_raw/team/mbarrier.h>
#include <tle_raw/team/services.h>
#include <tle_raw/team/shadow.h>
#include <tle_raw/team/tensor_map.h>
#include <tle_raw/team/waiting.h>
#include <tle_raw/team/warp.h>
#include <tle_raw/team/warp_matrix.h>

namespace tle::team {

static void begin(Team* team, const tle_region* region, const tle_region_call* call, void* const* args) {
  team->region = region;
  team->call = call;
  team->args = args;
  team->threads = team->live = call->threads;
  for (int axis = 0; axis < 3; ++axis) team->program[axis] = call->program[axis], team->grid[axis] = call->grid[axis];
  team->free = nullptr;
  begin_waiting(team);
  team->stacks = team->failed = team->has_printed = team->converging_warps = 0;
  const bool single = call->threads == 1;  // of a function of elements
  const u32 warps = single ? 1 : call->threads / WARP;
  team->ready_warps = warps == 32 ? ~0u : (1u << warps) - 1;
  for (u32 w = 0; w < warps; ++w) {
    Warp& warp = team->warps[w];
    warp.ready = warp.alive = single ? 1 : ~0u;
    warp.waiting = warp.converging = warp.meeting = warp.rounds = warp.turns = 0;
  }
  for (Barrier& barrier : team->barriers) {
    barrier.arrived = barrier.count = barrier.expected = barrier.sleepers = 0;
    for (u32 w = 0; w < warps; ++w) barrier.who[w] = 0;
  }
  for (u32 thread = 0; thread < call->threads; ++thread) team->slots[thread] = nullptr;
}

static i32 fail_early(const tle_region* region, const tle_region_call* call) {
  static const char text[] = "no memory for the region's threads";
  i64* status = static_cast<i64*>(call->context[STATUS]);
  i64 none = 0;
  if (status && __atomic_compare_exchange_n(&status[CODE], &none, REGION_FAILED, false, 5, 5)) {
    for (int axis = 0; axis < 3; ++axis) status[PROGRAM_X + axis] = call->program[axis];
    status[KIND] = NO_MEMORY;
    status[MESSAGE] = reinterpret_cast<i64>(text);
    status[FILE_NAME] = reinterpret_cast<i64>(region->sites[0].file);
    status[LINE] = region->sites[0].line;
  }
  return 1;
}

extern "C" {

void fflush_stdout_of_libc(void*) __asm__("fflush");

// Runs all threads of the block; 0, or 1 when the region failed.
TLE_COMPILED i32 tle_team_run(const tle_region_call* call, void* const* args, const tle_region* region) {
  Team* team = workspace(&call->context[WORKSPACE]);
  if (!team) return fail_early(region, call);
  begin(team, region, call, args);
  if (region->debug && !(begin_shadow(team) && begin_races(team))) return fail_early(region, call);
  Slot* first = stack_for(team, pick(team, 0, WARP - 1));
  tle_team_switch(&team->host, first->stack_pointer);
  while (const Slot* asking = team->asking) {
    answer(team);
    tle_team_switch(&team->host, asking->stack_pointer);
  }
  if (team->has_printed) fflush_stdout_of_libc(nullptr);
  return team->failed != 0;
}

#define TLE_ASKED __attribute__((always_inline))
TLE_ASKED u32 tle_team_thread() {
  const u32 index = constant_u32(self()->index);
  __builtin_assume(index < MAX_THREADS);
  return index;
}
TLE_ASKED u32 tle_team_threads() {
  const u32 threads = constant_u32(constant_pointer(self()->team)->threads);
  __builtin_assume(threads >= WARP && threads <= MAX_THREADS);
  return threads;
}
TLE_ASKED u32 tle_team_program(u32 axis) { return constant_u32(constant_pointer(self()->team)->program[axis]); }
TLE_ASKED u32 tle_team_grid(u32 axis) { return constant_u32(constant_pointer(self()->team)->grid[axis]); }
TLE_ASKED u8* tle_team_shared() { return constant_pointer(constant_pointer(self()->team)->shared); }
#undef TLE_ASKED

// A clock for code that measures itself.
TLE_EXPORTED u64 tle_team_clock() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  u64 value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#endif
}
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_RUN_H
