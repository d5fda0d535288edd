// Debug: which bytes of shared variables and of Out tiles have been written, and whether tile indices are in range.
//
// The compiler puts a call before each access of the fragment. One byte of shadow stands for each byte of memory.
#ifndef TLE_RAW_TEAM_SHADOW_H
#define TLE_RAW_TEAM_SHADOW_H

#include <tle_raw/team/races.h>

namespace tle::team {

TLE_INLINE bool begin_shadow(Team* team) {
  const tle_region* region = team->region;
  u64 bytes = region->shared_bytes;
  for (u32 tile = 0; tile < region->tile_count; ++tile) {
    team->shadow_of_tile[tile] = bytes;
    if (region->tiles[tile].is_out) bytes += region->tiles[tile].bytes;
  }
  if (bytes > team->shadow_bytes) {
    if (team->shadow) munmap(team->shadow, team->shadow_bytes);
    team->shadow_bytes = align_up(bytes, 4096);
    team->shadow = static_cast<u8*>(map_memory(team->shadow_bytes));
    if (!team->shadow) return team->shadow_bytes = 0, false;
  }
  if (bytes) __builtin_memset(team->shadow, 0, bytes);
  return true;
}

// The shadow of a byte that starts without content; null for all other memory. `left`: bytes to the object's end.
TLE_INLINE u8* shadow_of(Team* team, const u8* pointer, u64& left, i32& tile_of) {
  const tle_region* region = team->region;
  const u64 offset = u64(pointer - team->shared);
  tile_of = -1;
  if (offset < region->shared_bytes) return left = region->shared_bytes - offset, team->shadow + offset;
  for (u32 tile = 0; tile < region->tile_count; ++tile) {
    const u64 in_tile = u64(pointer - tile_data(team, tile));
    if (in_tile >= region->tiles[tile].bytes) continue;
    left = region->tiles[tile].bytes - in_tile;
    tile_of = i32(tile);
    return region->tiles[tile].is_out ? team->shadow + team->shadow_of_tile[tile] + in_tile : nullptr;
  }
  return nullptr;
}

[[noreturn]] TLE_RARE static void report_unwritten(Slot* me, i32 tile, u64 at, u32 site) {
  Message message(me->team);
  message.text("thread ").number(me->index).text(" reads ");
  if (tile < 0) message.text("shared memory");
  else message.text("an Out tile at byte ").number(i64(at));
  message.text(" that nothing has been written to");
  give_up(me->team, UNINITIALISED, site);
}

TLE_INLINE void check_read(Slot* me, const u8* pointer, u64 bytes, u32 site) {
  check_bounds(me, {pointer, bytes, false, site});
  u64 left = 0;
  i32 tile;
  const u8* shadow = shadow_of(me->team, pointer, left, tile);
  if (!shadow) return;
  for (u64 i = 0; i < bytes && i < left; ++i)
    if (!shadow[i]) report_unwritten(me, tile, me->team->region->tiles[tile < 0 ? 0 : tile].bytes - left + i, site);
}

TLE_INLINE void check_write(Slot* me, const u8* pointer, u64 bytes, u32 site) {
  check_bounds(me, {pointer, bytes, true, site});
  u64 left = 0;
  i32 tile;
  u8* shadow = shadow_of(me->team, pointer, left, tile);
  if (shadow) __builtin_memset(shadow, 1, bytes < left ? bytes : left);
}

extern "C" {
// Of an access that orders threads, or that stands for several: atomic, volatile, of a matrix, of the copy engine.
TLE_COMPILED void tle_team_check_read(const u8* pointer, u64 bytes, u32 site) {
  Slot* me = self();
  ++me->team->period;
  check_read(me, pointer, bytes, site);
}

TLE_COMPILED void tle_team_check_write(const u8* pointer, u64 bytes, u32 site) {
  Slot* me = self();
  ++me->team->period;
  check_write(me, pointer, bytes, site);
}

// Of any other access.
TLE_COMPILED void tle_team_check_plain_read(const u8* pointer, u64 bytes, u32 site) {
  Slot* me = self();
  check_read(me, pointer, bytes, site);
  check_race(me, {pointer, bytes, false, site});
}

TLE_COMPILED void tle_team_check_plain_write(const u8* pointer, u64 bytes, u32 site) {
  Slot* me = self();
  check_write(me, pointer, bytes, site);
  check_race(me, {pointer, bytes, true, site});
}

TLE_EXPORTED void tle_team_check_division(u32 by_zero, u32 traps, u32 site) {
  if (__builtin_expect(!(by_zero | traps), 1)) return;
  Slot* me = self();
  Message message(me->team);
  tell_thread(message, me)
      .text(by_zero ? " divides an integer by zero" : " divides the lowest integer by -1");
  give_up(me->team, DIVISION, site);
}

// tle::tile's own check: `dim` is -1 for an index that counts through the whole tile
TLE_EXPORTED void tle_team_check_index(i64 index, i64 size, i32 dim, u32 site) {
  if (__builtin_expect(u64(index) < u64(size), 1)) return;
  Slot* me = self();
  Message message(me->team);
  message.text("thread ").number(me->index).text(": the index ").number(index);
  if (dim >= 0) message.text(" of dim ").number(dim);
  message.text(" is outside of the tile, which has ").number(size).text(dim < 0 ? " elements" : " there");
  give_up(me->team, OUT_OF_BOUNDS, site);
}
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_SHADOW_H
