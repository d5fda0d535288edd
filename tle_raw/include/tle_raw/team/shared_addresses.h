// 32-bit shared addresses, as __cvta_generic_to_shared gives them and PTX takes them.
//
// Shared variables and tiles lie anywhere in the host's memory. An address is a window in its high byte and an offset
// in it: window 0 is the block's shared variables, window i + 1 is tile i. The last bytes of a window stand for those
// before the next object: `[p+16]` with `p` in front of an array is the array. What lies behind a tile belongs to its
// window, too: the other slots of a ring, whose first one is passed. Windows from 128 on are shared variables of other
// blocks of the cluster, by their rank.
#ifndef TLE_RAW_TEAM_SHARED_ADDRESSES_H
#define TLE_RAW_TEAM_SHARED_ADDRESSES_H

#include <tle_raw/team/cluster_members.h>

namespace tle::team {

constexpr u32 WINDOW_BITS = 24;
constexpr u64 OTHER_BLOCKS = 128;
constexpr u64 BEFORE = 1u << 22, BEHIND = 1u << 22;

TLE_INLINE const u8* tile_data(const Team* team, u32 tile) {
  return static_cast<const u8*>(team->args[team->region->tiles[tile].argument]);
}

[[noreturn]] TLE_RARE static void report_bad_address(Slot* me, u64 address, u32 site) {
  Message(me->team).text("thread ").number(me->index).text(" takes ").hexadecimal(address)
      .text(" for an address of shared memory, and nothing lies there");
  give_up(me->team, BAD_ADDRESS, site);
}

// Where an object lies in the shared window; ~0 for what is in none. The end of an object counts as part of it.
TLE_INLINE u64 address_in_object(const Team* team, const u8* pointer) {
  const u64 offset = u64(pointer - team->shared);
  if (offset < SHARED_BYTES) return offset;
  for (u32 tile = 0; tile < team->region->tile_count; ++tile) {
    const u64 in_tile = u64(pointer - tile_data(team, tile));
    if (in_tile <= team->region->tiles[tile].bytes) return (u64(tile + 1) << WINDOW_BITS) + in_tile;
  }
  return ~0ull;
}

extern "C" {

TLE_EXPORTED u64 tle_team_shared_address(const u8* pointer) {
  const Team* team = self()->team;
  const u64 address = address_in_object(team, pointer);
  if (__builtin_expect(address != ~0ull, 1)) return address;
  for (u32 rank = 0; rank < cluster_size(team); ++rank) {
    const Team* other = team_of(team, rank);
    const u64 offset = other ? u64(pointer - other->shared) : SHARED_BYTES;
    if (offset < SHARED_BYTES) return ((OTHER_BLOCKS + rank) << WINDOW_BITS) + offset;
  }
  for (u32 tile = 0; tile < team->region->tile_count; ++tile) {
    const u64 before = u64(tile_data(team, tile) - pointer);
    if (before <= BEFORE) return (u64(tile + 1) << WINDOW_BITS) - before;
    if (0 - before <= BEHIND) return (u64(tile + 1) << WINDOW_BITS) - before;
  }
  return reinterpret_cast<u64>(pointer);
}

TLE_EXPORTED u8* tle_team_shared_pointer(u64 address, u32 site) {
  Slot* me = self();
  Team* team = me->team;
  const u64 window = (address + BEFORE) >> WINDOW_BITS, offset = address - (window << WINDOW_BITS);
  if (window == 0) return team->shared + offset;
  if (window >= OTHER_BLOCKS && address >> 32 == 0) {
    const Team* other = team_of(team, u32(window - OTHER_BLOCKS));
    if (other && offset < SHARED_BYTES) return other->shared + offset;
    report_bad_address(me, address, site);
  }
  if (window <= team->region->tile_count) return const_cast<u8*>(tile_data(team, u32(window - 1))) + i64(offset);
  if (address >> 32 == 0) report_bad_address(me, address, site);
  return reinterpret_cast<u8*>(address);
}

// isspacep.shared and isspacep.local; everything else is global
TLE_EXPORTED u32 tle_team_is_shared(const u8* pointer) { return address_in_object(self()->team, pointer) != ~0ull; }
TLE_EXPORTED u32 tle_team_is_local(const u8* pointer) {
  const Team* team = self()->team;
  return u64(pointer) - team->first_stack < MAX_THREADS * STACK_BYTES;
}
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_SHARED_ADDRESSES_H
