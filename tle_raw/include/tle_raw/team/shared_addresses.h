// 32-bit shared addresses, as __cvta_generic_to_shared gives them and PTX takes them.
//
// Shared variables and tiles lie anywhere in the host's memory. An address is a window in its high byte and an offset
// in it: window 0 is the block's shared variables, window i + 1 is tile i.
#ifndef TLE_RAW_TEAM_SHARED_ADDRESSES_H
#define TLE_RAW_TEAM_SHARED_ADDRESSES_H

#include <tle_raw/team/schedule.h>

namespace tle::team {

constexpr u32 WINDOW_BITS = 24;

TLE_INLINE const u8* tile_data(const Team* team, u32 tile) {
  return static_cast<const u8*>(team->args[team->region->tiles[tile].argument]);
}

[[noreturn]] TLE_RARE static void report_bad_address(Team* team, const char* text, u32 site) {
  Message(team).text(text);
  give_up(team, BAD_ADDRESS, site);
}

extern "C" {

// Where a generic address lies in the shared window; the end of an object counts as part of it.
TLE_EXPORTED u64 tle_team_shared_address(const u8* pointer) {
  const Team* team = self()->team;
  const u64 offset = u64(pointer - team->shared);
  if (offset < SHARED_BYTES) return offset;
  for (u32 tile = 0; tile < team->region->tile_count; ++tile) {
    const u64 in_tile = u64(pointer - tile_data(team, tile));
    if (in_tile <= team->region->tiles[tile].bytes) return u64(tile + 1) << WINDOW_BITS | in_tile;
  }
  return reinterpret_cast<u64>(pointer);
}

TLE_EXPORTED u8* tle_team_shared_pointer(u64 address) {
  Team* team = self()->team;
  const u64 window = address >> WINDOW_BITS, offset = address & ((1u << WINDOW_BITS) - 1);
  if (window == 0) return team->shared + offset;
  if (window <= team->region->tile_count) return const_cast<u8*>(tile_data(team, u32(window - 1))) + offset;
  if (address >> 32 == 0) report_bad_address(team, "a 32-bit address that is not in shared memory is used as if it were", 0);
  return reinterpret_cast<u8*>(address);
}

// isspacep.shared and isspacep.local; everything else is global
TLE_EXPORTED u32 tle_team_is_shared(const u8* pointer) { return tle_team_shared_address(pointer) >> 32 == 0; }
TLE_EXPORTED u32 tle_team_is_local(const u8* pointer) {
  const Team* team = self()->team;
  return u64(pointer) - team->first_stack < MAX_THREADS * STACK_BYTES;
}
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_SHARED_ADDRESSES_H
