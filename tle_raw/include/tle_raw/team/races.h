// Debug: accesses of two threads to one byte of a tile or a shared variable, one of them a write, and nothing between
// them that orders threads.
//
// Between two accesses of different warps stands a barrier, or any atomic or volatile access or mbarrier of the block;
// between two of one warp also an operation of the warp. That is less than a GPU asks for: what is told is a race, and
// not every race is told. Of two writes nothing is told: programs write one value from many threads.
#ifndef TLE_RAW_TEAM_RACES_H
#define TLE_RAW_TEAM_RACES_H

#include <tle_raw/team/bounds.h>

namespace tle::team {

extern "C" int munmap(void* address, unsigned long bytes);

struct Toucher {
  u32 period, steps;  // of the block and of the thread's warp, when it was there
  u32 site;
  u16 thread;
};

// The last access of each kind to one byte; of reads also another thread's.
struct Touch {
  Toucher write, read, other_read;
};

TLE_INLINE bool begin_races(Team* team) {
  const tle_region* region = team->region;
  u64 bytes = region->shared_bytes;
  for (u32 tile = 0; tile < region->tile_count; ++tile) {
    team->touched_of_tile[tile] = bytes;
    bytes += region->tiles[tile].bytes;
  }
  ++team->period;  // what earlier regions have left is of earlier periods
  const u64 needed = bytes * sizeof(Touch);
  if (needed > team->touched_bytes) {
    if (team->touched) munmap(team->touched, team->touched_bytes);
    team->touched_bytes = align_up(needed, 4096);
    team->touched = static_cast<Touch*>(map_memory(team->touched_bytes));
    if (!team->touched) return team->touched_bytes = 0, false;
  }
  return true;
}

// What is known of a byte; null outside of tiles and shared variables. `left`: bytes to the object's end.
TLE_INLINE Touch* touched(Team* team, const u8* pointer, u64& left) {
  const tle_region* region = team->region;
  const u64 offset = u64(pointer - team->shared);
  if (offset < region->shared_bytes) return left = region->shared_bytes - offset, team->touched + offset;
  for (u32 tile = 0; tile < region->tile_count; ++tile) {
    const u64 in_tile = u64(pointer - tile_data(team, tile));
    if (in_tile >= region->tiles[tile].bytes) continue;
    left = region->tiles[tile].bytes - in_tile;
    return team->touched + team->touched_of_tile[tile] + in_tile;
  }
  return nullptr;
}

TLE_INLINE bool meets(const Slot* me, const Toucher& other) {
  if (other.period != me->team->period || other.thread == me->index) return false;
  return other.thread / WARP != me->index / WARP || other.steps == me->warp->steps;
}

[[noreturn]] TLE_RARE static void report_race(Slot* me, const Toucher& other, bool reads, bool other_reads, u32 site) {
  Message(me->team).text("race: thread ").number(me->index).text(reads ? " reads" : " writes").text(" what thread ")
      .number(other.thread).text(other_reads ? " reads at " : " writes at ").place(me->team->region->sites[other.site])
      .text(", and no barrier stands between them");
  give_up(me->team, RACE, site);
}

TLE_INLINE void check_race(Slot* me, const Access& access) {
  u64 left = 0;
  Touch* touch = touched(me->team, access.pointer, left);
  if (!touch) return;
  const Toucher now = {me->team->period, me->warp->steps, access.site, u16(me->index)};
  for (u64 i = 0; i < access.bytes && i < left; ++i, ++touch) {
    if (access.writes) {
      if (meets(me, touch->read)) report_race(me, touch->read, false, true, access.site);
      if (meets(me, touch->other_read)) report_race(me, touch->other_read, false, true, access.site);
      touch->write = now;
      continue;
    }
    if (meets(me, touch->write)) report_race(me, touch->write, true, false, access.site);
    if (touch->read.period == now.period && touch->read.thread != now.thread) touch->other_read = touch->read;
    touch->read = now;
  }
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_RACES_H
