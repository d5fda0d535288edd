// Debug: whether an access stays in the memory that a fragment may touch.
//
// That is: arrays of the launch, tiles, shared and global variables, the stacks of the threads and of the kernel.
#ifndef TLE_RAW_TEAM_BOUNDS_H
#define TLE_RAW_TEAM_BOUNDS_H

#include <tle_raw/team/shared_addresses.h>

namespace tle::team {

constexpr u64 KERNEL_STACK_BYTES = 1024 * 1024;  // that the kernel's own variables lie in
constexpr u64 RESERVED_SHARED_BYTES = 1024;      // at the end of shared memory: cooperative groups take it

struct Access {
  const u8* pointer;
  u64 bytes;
  bool writes;
  u32 site;
};

TLE_INLINE bool lies_in(const Access& access, u64 start, u64 bytes) {
  const u64 offset = reinterpret_cast<u64>(access.pointer) - start;
  return offset < bytes && access.bytes <= bytes - offset;
}

TLE_INLINE Message begin_message(Slot* me, const Access& access) {
  Message message(me->team);
  tell_thread(message, me).text(access.writes ? " writes " : " reads ").number(i64(access.bytes));
  return message.text(" bytes");
}

// How far an object is from an access: beyond its end, or before its start.
TLE_INLINE u64 distance(const Access& access, u64 start, u64 bytes) {
  const u64 address = reinterpret_cast<u64>(access.pointer);
  return address < start ? start - address : address < start + bytes ? 0 : address - start - bytes;
}

TLE_INLINE void tell_distance(Message& message, const Access& access, u64 start, u64 bytes) {
  const u64 address = reinterpret_cast<u64>(access.pointer), far = distance(access, start, bytes);
  message.text(", ");
  if (far || address >= start + bytes) message.number(i64(far)).text(address < start ? " bytes before the " : " bytes beyond the ");
  else message.text("across the end of the ");
  message.number(i64(bytes)).text(" bytes of ");
}

[[noreturn]] TLE_RARE static void report_outside_shared(Slot* me, const Access& access) {
  const tle_region* region = me->team->region;
  const u64 shared = reinterpret_cast<u64>(me->team->shared);
  const tle_variable* nearest = nullptr;
  for (u32 v = 0; v < region->variable_count; ++v) {
    const tle_variable& other = region->variables[v];
    if (other.start) continue;
    if (!nearest || distance(access, shared + other.offset, other.bytes) < distance(access, shared + nearest->offset, nearest->bytes))
      nearest = &other;
  }
  Message message = begin_message(me, access);
  if (nearest) {
    tell_distance(message, access, shared + nearest->offset, nearest->bytes);
    message.text("the shared variable `").text(nearest->name).text("`");
  } else {
    message.text(" of shared memory, of which the fragment has none");
  }
  give_up(me->team, OUT_OF_BOUNDS, access.site);
}

[[noreturn]] TLE_RARE static void report_outside_tile(Slot* me, const Access& access, u32 tile) {
  Message message = begin_message(me, access);
  tell_distance(message, access, reinterpret_cast<u64>(tile_data(me->team, tile)), me->team->region->tiles[tile].bytes);
  message.text("a tile");
  give_up(me->team, OUT_OF_BOUNDS, access.site);
}

[[noreturn]] TLE_RARE static void report_outside(Slot* me, const Access& access) {
  begin_message(me, access).text(" outside of the memory of every argument");
  i64* status = static_cast<i64*>(me->team->call->context[STATUS]);
  if (status && !status[CODE]) status[ADDRESS] = reinterpret_cast<i64>(access.pointer);
  give_up(me->team, OUTSIDE, access.site);
}

// The launch's arrays: how many, then where each starts and ends.
TLE_INLINE bool lies_in_argument(const u64* table, const Access& access) {
  const u64 first = reinterpret_cast<u64>(access.pointer), last = first + access.bytes;
  for (u64 n = 0; n < table[0]; ++n)
    if (first >= table[2 * n + 1] && last <= table[2 * n + 2] && first <= last) return true;
  return false;
}

TLE_INLINE bool lies_in_variable(const Team* team, const Access& access, bool shared) {
  for (u32 v = 0; v < team->region->variable_count; ++v) {
    const tle_variable& other = team->region->variables[v];
    if ((other.start == nullptr) != shared) continue;
    const u64 start = shared ? reinterpret_cast<u64>(team->shared) + other.offset : reinterpret_cast<u64>(other.start);
    if (lies_in(access, start, other.bytes)) return true;
  }
  return false;
}

static void check_bounds(Slot* me, const Access& access) {
  const Team* team = me->team;
  const u64 address = reinterpret_cast<u64>(access.pointer);
  if (!access.bytes) return;
  const u64 in_shared = address - reinterpret_cast<u64>(team->shared);
  if (in_shared < SHARED_BYTES) {
    if (in_shared >= SHARED_BYTES - RESERVED_SHARED_BYTES || lies_in_variable(team, access, true)) return;
    report_outside_shared(me, access);
  }
  for (u32 tile = 0; tile < team->region->tile_count; ++tile) {
    const u64 start = reinterpret_cast<u64>(tile_data(team, tile)), bytes = team->region->tiles[tile].bytes;
    if (lies_in(access, start, bytes)) return;
    if (address - start < bytes) report_outside_tile(me, access, tile);
  }
  const u64* table = static_cast<const u64*>(team->call->context[RANGES]);
  if (!table || lies_in_argument(table, access)) return;
  if (lies_in(access, team->first_stack, (MAX_THREADS + 1) * STACK_BYTES)) return;
  if (lies_in(access, reinterpret_cast<u64>(team->host), KERNEL_STACK_BYTES)) return;
  void* const* context = team->call->context;
  if (lies_in(access, reinterpret_cast<u64>(context[GRID_MEMORY]), GRID_MEMORY_BYTES)) return;
  if (lies_in(access, reinterpret_cast<u64>(context[SCRATCH]), reinterpret_cast<u64>(context[OWN_SCRATCH_BYTES]))) return;
  if (lies_in_variable(team, access, false) || team->region->finds_memory) return;
  if (cluster_rank_of(team, access.pointer) != NONE) return;
  report_outside(me, access);
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_BOUNDS_H
