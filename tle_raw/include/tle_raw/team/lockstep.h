// Lanes of a warp meet before volatile accesses: a lane waits there until no other lane of its warp can run; then those
// at the place that is first in the program go on. So lanes that part at a branch come together behind it, as a GPU's.
#ifndef TLE_RAW_TEAM_LOCKSTEP_H
#define TLE_RAW_TEAM_LOCKSTEP_H

#include <tle_raw/team/waiting.h>

namespace tle::team {

// A loop may wait for a lane that waits behind it: nobody is first for ever. A lane that finds the same value at the
// same place so often waits for another; one that does anything else may take longer.
constexpr u32 MOST_LOOKS = 256, MOST_ROUNDS = 1 << 16, ACCESSES_OF_A_WARP = 64;

TLE_INLINE u32 value_around(const void* place) {
  return __atomic_load_n(reinterpret_cast<const u32*>(reinterpret_cast<u64>(place) & ~3ull), __ATOMIC_RELAXED);
}

TLE_INLINE void count_looks(Slot* me, const void* place, bool is_store) {
  if (!place) return;
  const u32 value = value_around(place);
  const bool same = !is_store && me->place == place && me->value == value;
  me->looks = same ? me->looks + 1 : 0;
  me->place = place;
  me->value = value;
}

TLE_INLINE bool waits_for_others(Team* team, Warp* warp, u32 group) {
  if (++warp->rounds >= MOST_ROUNDS) return true;
  for (u32 rest = group; rest; rest &= rest - 1)
    if (team->slots[u32(warp - team->warps) * WARP + u32(__builtin_ctz(rest))]->looks < MOST_LOOKS) return false;
  return true;
}

static void go_on_together(Team* team, u32 number) {
  Warp* warp = &team->warps[number];
  u32 first = ~0u, group = 0;
  for (u32 rest = warp->meeting; rest; rest &= rest - 1) {
    const u32 lane = u32(__builtin_ctz(rest)), order = warp->order[lane];
    if (order < first) first = order, group = 0;
    if (order == first) group |= 1u << lane;
  }
  if (group == warp->meeting) warp->rounds = 0;
  else if (waits_for_others(team, warp, group)) group = warp->meeting, warp->rounds = 0;
  ++warp->steps;
  warp->meeting &= ~group;
  if (!warp->meeting && !warp->converging) team->converging_warps &= ~(1u << number);
  make_ready(team, warp, group);
}

// `place`: what is accessed, null for a loop's way back.
extern "C" TLE_COMPILED void tle_team_meet(u32 order, const void* place, u32 is_store, u32 site) {
  Slot* me = self();
  Team* team = me->team;
  Warp* warp = me->warp;
  const u32 number = u32(warp - team->warps);
  count_looks(me, place, is_store != 0);
  if (place) take_turn(me, place, site);
  warp->order[me->lane] = order;
  warp->meeting |= 1u << me->lane;
  team->converging_warps |= 1u << number;
  if (__builtin_expect(++me->spins < ACCESSES_OF_A_WARP, 1)) return sleep(me, site);
  me->spins = 0;
  sleep(me, site, pick_after(team, number));
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_LOCKSTEP_H
