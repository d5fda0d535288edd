// Operations of a warp: lanes bring their values, the last lane of the group works out all results.
#ifndef TLE_RAW_TEAM_WARP_H
#define TLE_RAW_TEAM_WARP_H

#include <tle_raw/team/barrier.h>

namespace tle::team {

enum Operation : u32 {
  SYNC,
  SHUFFLE_UP,
  SHUFFLE_DOWN,
  SHUFFLE_XOR,
  SHUFFLE_INDEX,
  VOTE_ALL,
  VOTE_ANY,
  VOTE_EQUAL,
  BALLOT,
  MATCH_ANY,
  MATCH_ALL,
  REDUCE_ADD,
  REDUCE_MIN,
  REDUCE_MAX,
  REDUCE_UMIN,
  REDUCE_UMAX,
  REDUCE_AND,
  REDUCE_OR,
  REDUCE_XOR,
  COLLECTIVE,
};

// What the lanes of a group do together and this file does not know: the value of a lane is the address of its own.
struct Collective {
  void (*work)(Warp* warp, u32 group, u32 first);  // `first` is one lane of the group
};

struct Source {
  u32 lane;
  bool inside;  // of the segment; otherwise a lane takes its own value
};

// PTX's shfl: `argument` is the lane or distance in its low half, the clamp and segment mask in its high half.
TLE_INLINE Source source_of(const Warp* warp, u32 lane, u32 operation) {
  const u32 b = warp->argument[lane] & 0x1f, clamp = warp->argument[lane] >> 16 & 0x1f;
  const u32 segment = warp->argument[lane] >> 24 & 0x1f;
  const u32 last = (lane & segment) | (clamp & ~segment);
  u32 source = lane;
  bool inside = true;
  switch (operation) {
    case SHUFFLE_UP: source = lane - b, inside = i32(source) >= i32(last); break;
    case SHUFFLE_DOWN: source = lane + b, inside = source <= last; break;
    case SHUFFLE_XOR: source = lane ^ b, inside = source <= last; break;
    default: source = (lane & segment) | (b & ~segment), inside = source <= last; break;
  }
  return {inside ? source & 31 : lane, inside};
}

TLE_INLINE void shuffle(Warp* warp, u32 group, u32 operation) {
  for (u32 rest = group; rest; rest &= rest - 1) {
    const u32 lane = u32(__builtin_ctz(rest));
    const Source source = source_of(warp, lane, operation);
    // The value of a lane that takes no part is not defined; here a lane gets its own.
    const u32 from = group >> source.lane & 1 ? source.lane : lane;
    warp->result[lane] = (warp->value[from] & 0xffffffff) | u64(source.inside) << 32;
  }
}

TLE_INLINE u32 reduce(const Warp* warp, u32 group, u32 operation) {
  u32 total = u32(warp->value[__builtin_ctz(group)]);
  for (u32 rest = group & (group - 1); rest; rest &= rest - 1) {
    const u32 value = u32(warp->value[__builtin_ctz(rest)]);
    switch (operation) {
      case REDUCE_ADD: total += value; break;
      case REDUCE_MIN: total = i32(value) < i32(total) ? value : total; break;
      case REDUCE_MAX: total = i32(value) > i32(total) ? value : total; break;
      case REDUCE_UMIN: total = value < total ? value : total; break;
      case REDUCE_UMAX: total = value > total ? value : total; break;
      case REDUCE_AND: total &= value; break;
      case REDUCE_OR: total |= value; break;
      default: total ^= value; break;
    }
  }
  return total;
}

TLE_INLINE u32 lanes_equal_to(const Warp* warp, u32 group, u64 value) {
  u32 equal = 0;
  for (u32 rest = group; rest; rest &= rest - 1) {
    const u32 lane = u32(__builtin_ctz(rest));
    equal |= u32(warp->value[lane] == value) << lane;
  }
  return equal;
}

TLE_INLINE void spread(Warp* warp, u32 group, u64 result) {
  for (u32 rest = group; rest; rest &= rest - 1) warp->result[__builtin_ctz(rest)] = result;
}

// Lanes that came to something else instead, which no GPU allows, take no part.
TLE_INLINE void work_together(Warp* warp, u32 group) {
  u32 same = 0, first = WARP;
  for (u32 rest = group; rest; rest &= rest - 1) {
    const u32 lane = u32(__builtin_ctz(rest));
    if (warp->operation[lane] != COLLECTIVE) continue;
    if (first == WARP) first = lane;
    const auto work = reinterpret_cast<const Collective*>(warp->value[lane])->work;
    if (work == reinterpret_cast<const Collective*>(warp->value[first])->work) same |= 1u << lane;
  }
  reinterpret_cast<const Collective*>(warp->value[first])->work(warp, same, first);
}

static void work_out(Warp* warp, u32 group, u32 operation) {
  ++warp->steps;
  switch (operation) {
    case COLLECTIVE: return work_together(warp, group);
    case SYNC: return;
    case SHUFFLE_UP:
    case SHUFFLE_DOWN:
    case SHUFFLE_XOR:
    case SHUFFLE_INDEX: return shuffle(warp, group, operation);
    case VOTE_ALL: return spread(warp, group, lanes_equal_to(warp, group, 0) == 0);
    case VOTE_ANY: return spread(warp, group, lanes_equal_to(warp, group, 0) != group);
    case VOTE_EQUAL: {
      const u32 zeros = lanes_equal_to(warp, group, 0);
      return spread(warp, group, zeros == 0 || zeros == group);
    }
    case BALLOT: return spread(warp, group, group & ~lanes_equal_to(warp, group, 0));
    case MATCH_ANY:
      for (u32 rest = group; rest; rest &= rest - 1) {
        const u32 lane = u32(__builtin_ctz(rest));
        warp->result[lane] = lanes_equal_to(warp, group, warp->value[lane]);
      }
      return;
    case MATCH_ALL: {
      const bool all = lanes_equal_to(warp, group, warp->value[__builtin_ctz(group)]) == group;
      return spread(warp, group, all ? group | 1ull << 32 : 0);
    }
    default: return spread(warp, group, reduce(warp, group, operation));
  }
}

TLE_INLINE bool is_complete(const Warp* warp, u32 mask) {
  const u32 group = mask & warp->alive;
  if ((warp->waiting & group) != group) return false;
  u32 same = 1;
  for (u32 rest = group; rest; rest &= rest - 1) same &= warp->group[__builtin_ctz(rest)] == mask;
  return same;
}

TLE_INLINE const char* name_of(u32 operation) {
  static const char* const names[] = {
      "__syncwarp",    "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "__shfl_sync", "__all_sync",
      "__any_sync",    "vote.uni",       "__ballot_sync",    "__match_any_sync", "__match_all_sync"};
  if (operation == COLLECTIVE) return "an operation on matrices";
  return operation < sizeof(names) / sizeof(*names) ? names[operation] : "a reduction of the warp";
}

[[noreturn]] TLE_RARE static void report_caller_not_named(Slot* me, u32 mask, u32 operation, u32 site) {
  Message(me->team).text("thread ").number(me->index).text(", lane ").number(me->lane).text(" of its warp, executes ")
      .text(name_of(operation)).text(" with the mask ").hexadecimal(mask).text(", which does not name it");
  give_up(me->team, WARP_MASK, site);
}

[[noreturn]] TLE_RARE static void report_source(Team* team, const Warp* warp, u32 lane, u32 source) {
  const u32 mask = warp->group[lane], first = u32(warp - team->warps) * WARP;
  Message(team).text("thread ").number(first + lane).text(", lane ").number(lane).text(" of its warp, takes the value of lane ")
      .number(source).text(" by ").text(name_of(warp->operation[lane])).text(" with the mask ").hexadecimal(mask)
      .text(mask >> source & 1 ? ": that lane has returned" : ", which does not name that lane");
  give_up(team, WARP_MASK, warp->site[lane]);
}

// Debug: a group is complete. All of its lanes stand at one place, and take values from lanes that take part.
TLE_RARE static void check_group(Team* team, const Warp* warp, u32 group, u32 last) {
  const u32 first = u32(warp - team->warps) * WARP;
  for (u32 rest = group; rest; rest &= rest - 1) {
    const u32 lane = u32(__builtin_ctz(rest));
    if (warp->site[lane] != warp->site[last])
      report_two_places(team, first + lane, warp->site[lane], first + last, warp->site[last]);
    if (warp->operation[lane] < SHUFFLE_UP || warp->operation[lane] > SHUFFLE_INDEX) continue;
    const u32 source = source_of(warp, lane, warp->operation[lane]).lane;
    if (!(group >> source & 1)) report_source(team, warp, lane, source);
  }
}

TLE_INLINE void complete(Team* team, Warp* warp, u32 mask) {
  const u32 group = mask & warp->alive;
  warp->waiting &= ~group;
  const u32 last = u32(__builtin_ctz(group));
  if (__builtin_expect(team->region->debug != 0, 0)) check_group(team, warp, group, last);
  work_out(warp, group, warp->operation[last]);
  make_ready(team, warp, group);
}

TLE_INLINE u64 warp_operation(u32 mask, u32 operation, u64 value, u32 argument, u32 site) {
  Slot* me = self();
  Warp* warp = me->warp;
  const u32 lane = me->lane, bit = 1u << lane;
  if (__builtin_expect(me->team->region->debug && !(mask & bit), 0)) report_caller_not_named(me, mask, operation, site);
  mask |= bit;  // a mask without the calling lane is an error that the GPU does not define
  warp->value[lane] = value;
  warp->argument[lane] = argument;
  warp->operation[lane] = operation;
  warp->group[lane] = mask;
  warp->site[lane] = site;
  warp->waiting |= bit;
  if (!is_complete(warp, mask)) {
    sleep(me, site);
    return warp->result[lane];
  }
  const u32 group = mask & warp->alive;
  if (__builtin_expect(me->team->region->debug != 0, 0)) check_group(me->team, warp, group, lane);
  warp->waiting &= ~group;
  work_out(warp, group, operation);
  make_ready(me->team, warp, group & ~bit);
  return warp->result[lane];
}

// A lane has returned: groups that waited for it alone are complete now.
static void release_after_exit(Team* team, Warp* warp) {
  for (u32 rest = warp->waiting; rest; rest = warp->waiting & rest & (rest - 1)) {
    const u32 lane = u32(__builtin_ctz(rest));
    if (is_complete(warp, warp->group[lane])) complete(team, warp, warp->group[lane]);
  }
  release_waiting_block(team);
}

// No lane of the warp can run but those that asked for the active mask: together they are the active ones. Of several
// places that ask, the lanes at the first go on together.
static void converge(Team* team, u32 number) {
  Warp* warp = &team->warps[number];
  const u32 site = warp->site[__builtin_ctz(warp->converging)];
  u32 group = 0;
  for (u32 rest = warp->converging; rest; rest &= rest - 1)
    if (warp->site[__builtin_ctz(rest)] == site) group |= 1u << __builtin_ctz(rest);
  ++warp->steps;
  spread(warp, group, group);
  warp->converging &= ~group;
  if (!warp->converging && !warp->meeting) team->converging_warps &= ~(1u << number);
  make_ready(team, warp, group);
}

extern "C" {
TLE_COMPILED u64 tle_team_warp(u32 mask, u32 operation, u64 value, u32 argument, u32 site) {
  return warp_operation(mask, operation, value, argument, site);
}

// __activemask: the lanes that stand at this place when no other lane of the warp can run
TLE_COMPILED u32 tle_team_active(u32 site) {
  Slot* me = self();
  const u32 number = u32(me->warp - me->team->warps);
  me->warp->converging |= 1u << me->lane;
  me->warp->site[me->lane] = site;
  me->team->converging_warps |= 1u << number;
  sleep(me, site);
  return u32(me->warp->result[me->lane]);
}
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_WARP_H
