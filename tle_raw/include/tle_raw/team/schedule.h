// Which thread runs next. A thread runs until it must wait; a thread that never waits leaves its stack to the next one,
// so a region without barriers is a plain loop on one stack.
#ifndef TLE_RAW_TEAM_SCHEDULE_H
#define TLE_RAW_TEAM_SCHEDULE_H

#include <tle_raw/team/report.h>

namespace tle::team {

static void release_after_exit(Team* team, Warp* warp);
static void converge(Team* team, u32 warp);
static void go_on_together(Team* team, u32 warp);
[[noreturn]] static void report_standstill(Team* team);
static void thread_main();

TLE_INLINE void make_ready(Team* team, Warp* warp, u32 lanes) {
  warp->ready |= lanes;
  if (lanes) team->ready_warps |= 1u << (warp - team->warps);
}

TLE_INLINE u32 take(Team* team, u32 warp, u32 lane) {
  team->warps[warp].ready &= ~(1u << lane);
  if (!team->warps[warp].ready) team->ready_warps &= ~(1u << warp);
  return warp * WARP + lane;
}

TLE_INLINE u32 bits_above(u32 bits, u32 position) { return bits & (~1u << position); }

// The lane after this one in its warp, round and round; then the warps after this one. NONE when nobody can run.
TLE_INLINE u32 pick(Team* team, u32 warp, u32 lane) {
  for (;;) {
    const u32 ready = team->warps[warp].ready;
    if (__builtin_expect(ready != 0, 1)) {
      const u32 above = bits_above(ready, lane);
      return take(team, warp, u32(__builtin_ctz(above ? above : ready)));
    }
    if (team->warps[warp].meeting) {
      go_on_together(team, warp);
      continue;
    }
    if (team->warps[warp].converging) {
      converge(team, warp);
      continue;
    }
    const u32 warps = team->ready_warps ? team->ready_warps : team->converging_warps;
    if (!warps) return NONE;
    const u32 above = bits_above(warps, warp);
    warp = u32(__builtin_ctz(above ? above : warps));
    lane = WARP - 1;
  }
}

// A thread of the next warp that can run, or of this one when it is the only one.
TLE_INLINE u32 pick_after(Team* team, u32 warp) {
  const u32 warps = team->ready_warps | team->converging_warps, above = bits_above(warps, warp);
  return warps ? pick(team, u32(__builtin_ctz(above ? above : warps)), WARP - 1) : NONE;
}

// The next thread in the order of the block: for loops that wait for any other thread. Lanes that wait to go on together
// do not wait for such a loop of their own warp for ever.
TLE_INLINE u32 pick_in_order(Team* team, u32 warp, u32 lane) {
  constexpr u32 MOST_TURNS = 16;
  const u32 above = bits_above(team->warps[warp].ready, lane);
  if (above) return take(team, warp, u32(__builtin_ctz(above)));
  if (team->warps[warp].meeting && ++team->warps[warp].turns >= MOST_TURNS) {
    team->warps[warp].turns = 0;
    go_on_together(team, warp);
  }
  return pick_after(team, warp);
}

TLE_INLINE void assign(Team* team, Slot* slot, u32 thread) {
  slot->index = thread;
  slot->lane = thread % WARP;
  slot->warp = &team->warps[thread / WARP];
  slot->site = 0;
  slot->spins = slot->looks = 0;
  slot->place = nullptr;
  team->slots[thread] = slot;
}

TLE_INLINE Slot* fresh_stack(Team* team) {
  Slot* slot = slot_of_stack(team->first_stack + team->stacks++ * STACK_BYTES);
  slot->team = team;
  prepare_stack(slot, thread_main);
  return slot;
}

// The slot on which a thread goes on, or begins.
TLE_INLINE Slot* stack_for(Team* team, u32 thread) {
  Slot* slot = team->slots[thread];
  if (__builtin_expect(slot != nullptr, 1)) return slot;
  slot = team->free;
  if (slot) {
    team->free = slot->next_free;
  } else {
    slot = fresh_stack(team);
  }
  assign(team, slot, thread);
  return slot;
}

[[noreturn]] TLE_RARE static void report_overflow(Team* team) {
  Message(team).text("a thread of the fragment needs more than ").number(STACK_BYTES / 1024).text(" KiB of stack");
  give_up(team, STACK_OVERFLOW, 0);
}

// At the start of functions that may need much: so many bytes, and some for what they call, must be left. There are no
// guard pages: thousands of them for each worker would be more mappings than a process may have.
extern "C" TLE_EXPORTED void tle_team_check_stack(u64 bytes) {
  constexpr u64 MARGIN = 32 * 1024;
  if (__builtin_expect((stack_pointer() & (STACK_BYTES - 1)) < MARGIN + bytes, 0)) report_overflow(self()->team);
}

// Let others run until this thread is made ready and picked again.
TLE_INLINE void sleep(Slot* me, u32 site, u32 next) {
  Team* team = me->team;
  me->site = site;
  if (__builtin_expect(next == NONE, 0)) report_standstill(team);
  Slot* to = stack_for(team, next);
  if (to != me) tle_team_switch(&me->stack_pointer, to->stack_pointer);
}

TLE_INLINE void sleep(Slot* me, u32 site) { sleep(me, site, pick(me->team, u32(me->warp - me->team->warps), me->lane)); }

// A thread has returned. Its stack takes the next thread that has not begun; otherwise it waits for one.
TLE_INLINE void finish(Slot* me) {
  Team* team = me->team;
  Warp* warp = me->warp;
  warp->alive &= ~(1u << me->lane);
  --team->live;
  release_after_exit(team, warp);
  const u32 next = pick(team, u32(warp - team->warps), me->lane);
  if (next == NONE) {
    if (team->live) report_standstill(team);
    tle_team_switch(&me->stack_pointer, team->host);
  }
  if (!team->slots[next]) return assign(team, me, next);
  me->next_free = team->free;
  team->free = me;
  tle_team_switch(&me->stack_pointer, team->slots[next]->stack_pointer);
}

// A thread that exits deep in its stack leaves the stack behind: nobody goes on there.
[[noreturn]] TLE_RARE static void leave(Slot* me) {
  Team* team = me->team;
  Warp* warp = me->warp;
  warp->alive &= ~(1u << me->lane);
  --team->live;
  release_after_exit(team, warp);
  const u32 next = pick(team, u32(warp - team->warps), me->lane);
  if (next == NONE && team->live) report_standstill(team);
  void* nowhere;
  tle_team_switch(&nowhere, next == NONE ? team->host : stack_for(team, next)->stack_pointer);
  __builtin_unreachable();
}

static void thread_main() {
  for (;;) {
    Slot* me = self();
    auto thread = me->team->region->thread;
    // The compiler must not look through this call: inlined here, one thread's values would be kept for the next.
    asm volatile("" : "+r"(thread), "+r"(me) : : "memory");
    thread(me->team->args);
    asm volatile("" : "+r"(me) : : "memory");
    finish(me);
  }
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_SCHEDULE_H
