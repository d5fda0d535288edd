// Barriers of the block: __syncthreads and its kin, PTX's numbered barriers; and what becomes of threads that never come.
#ifndef TLE_RAW_TEAM_BARRIER_H
#define TLE_RAW_TEAM_BARRIER_H

#include <tle_raw/team/schedule.h>

namespace tle::team {

TLE_INLINE u32 needed(Team* team, const Barrier& barrier) { return barrier.expected ? barrier.expected : team->live; }

TLE_INLINE void release(Team* team, Barrier& barrier) {
  ++team->period;
  barrier.result = barrier.count;
  barrier.arrived = barrier.count = 0;
  for (u32 warps = barrier.sleepers; warps; warps &= warps - 1) {
    const u32 warp = u32(__builtin_ctz(warps));
    make_ready(team, &team->warps[warp], barrier.who[warp]);
    barrier.who[warp] = 0;
  }
  barrier.sleepers = 0;
}

[[noreturn]] TLE_RARE static void report_two_places(Team* team, u32 other, u32 other_site, u32 thread, u32 site) {
  const tle_site* sites = team->region->sites;
  Message(team).text("divergent barrier: thread ").number(other).text(" waits at ").place(sites[other_site])
      .text(" and thread ").number(thread).text(" at ").place(sites[site]);
  give_up(team, DIVERGENT_BARRIER, site);
}

TLE_INLINE void arrive(Slot* me, Barrier& barrier, u32 expected, bool predicate, u32 site) {
  if (!barrier.arrived) {
    barrier.site = site;
    barrier.first = me->index;
    barrier.expected = expected;
  } else if (__builtin_expect(me->team->region->debug && !expected && barrier.site != site, 0)) {
    report_two_places(me->team, barrier.first, barrier.site, me->index, site);
  }
  ++barrier.arrived;
  barrier.count += predicate;
}

// On a GPU the warps that a barrier of some threads does not wait for are about as far by then, and kernels are written
// that rely on it: TileLang's own lowering leaves out barriers between groups of warps. Debug tells of them.
TLE_INLINE void let_other_warps_come(Slot* me) {
  Team* team = me->team;
  make_ready(team, me->warp, 1u << me->lane);
  const u32 next = pick_after(team, u32(me->warp - team->warps));
  if (next != me->index) sleep(me, 0, next);
}

// Wait at a barrier for `expected` threads (0: all of them); how many predicates were true.
TLE_INLINE u32 wait_at_barrier(u32 number, u32 expected, bool predicate, u32 site) {
  Slot* me = self();
  Team* team = me->team;
  Barrier& barrier = team->barriers[number % BARRIERS];
  arrive(me, barrier, expected, predicate, site);
  if (barrier.arrived >= needed(team, barrier)) {
    release(team, barrier);
    if (expected && expected < team->threads && !team->region->debug) let_other_warps_come(me);
  } else {
    const u32 warp = u32(me->warp - team->warps);
    barrier.who[warp] |= 1u << me->lane;
    barrier.sleepers |= 1u << warp;
    sleep(me, site);
  }
  return barrier.result;
}

extern "C" {
TLE_COMPILED u32 tle_team_barrier(u32 number, u32 expected, u32 predicate, u32 site) {
  return wait_at_barrier(number, expected, predicate != 0, site);
}

// bar.arrive: counted, and not waited for
TLE_COMPILED void tle_team_arrive(u32 number, u32 expected, u32 site) {
  Slot* me = self();
  Barrier& barrier = me->team->barriers[number % BARRIERS];
  arrive(me, barrier, expected, false, site);
  if (barrier.arrived >= needed(me->team, barrier)) release(me->team, barrier);
}
}

// As on the GPU, a barrier of all threads does not wait for those that have returned. CUDA does not allow it, though.
static void release_waiting_block(Team* team) {
  for (u32 number = 0; number < BARRIERS; ++number) {
    Barrier& barrier = team->barriers[number];
    if (!barrier.arrived || barrier.expected) continue;
    if (__builtin_expect(team->region->debug != 0, 0) && self()->site != IDLE) {
      Message(team).text("thread ").number(self()->index).text(" has returned while thread ").number(barrier.first)
          .text(" waits at the barrier at ").place(team->region->sites[barrier.site]);
      give_up(team, EXITED_AT_BARRIER, barrier.site);
    }
    if (team->live && barrier.arrived >= team->live) release(team, barrier);
  }
}

// Of a thread that waits in an operation of its warp, for which lanes.
static void tell_mask(Message& message, const Slot* slot) {
  if (!slot || !(slot->warp->waiting >> slot->lane & 1)) return;
  const u32 mask = slot->warp->group[slot->lane];
  message.text(", thread ").number(slot->index).text(" wants the lanes of the mask ").hexadecimal(mask);
}

// Nobody can run and somebody has not returned: threads wait for each other at different places.
[[noreturn]] TLE_RARE static void report_standstill(Team* team) {
  const tle_site* sites = team->region->sites;
  const Slot *first = nullptr, *second = nullptr;
  for (u32 thread = 0; thread < team->threads && !second; ++thread) {
    const Slot* slot = team->slots[thread];
    if (!slot || slot->index != thread || !(team->warps[thread / WARP].alive >> thread % WARP & 1)) continue;
    if (!first) first = slot;
    else if (slot->site != first->site) second = slot;
  }
  Message message(team);
  const u32 site = first ? first->site : 0;
  message.text("divergent barrier: no thread can go on; thread ").number(first ? first->index : 0).text(" waits at ");
  message.place(sites[site]);
  if (second) message.text(", thread ").number(second->index).text(" at ").place(sites[second->site]);
  tell_mask(message, first);
  tell_mask(message, second);
  const u32 returned = team->threads - team->live;
  if (returned) message.text(", ").number(returned).text(" of ").number(team->threads).text(" threads have returned");
  give_up(team, DIVERGENT_BARRIER, second ? second->site : site);
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_BARRIER_H
