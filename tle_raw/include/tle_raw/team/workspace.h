// A worker's memory for regions: one mapping that holds the team, its shared memory and the threads' stacks.
#ifndef TLE_RAW_TEAM_WORKSPACE_H
#define TLE_RAW_TEAM_WORKSPACE_H

#include <tle_raw/team/fiber.h>

namespace tle::team {

constexpr u64 SHARED_BYTES = 256 * 1024;  // more than any GPU's block has
constexpr u32 MAX_TILES = 64;
constexpr u32 NONE = ~0u;
constexpr u32 BARRIERS = 17;
constexpr u32 CLUSTER_BARRIER = 16;  // of the block's threads that wait for the cluster; PTX has 16 numbers
constexpr u32 SEEN_BITS = 1 << 16;

// Collected while lanes of a warp arrive at one operation; the last one works out all results.
struct Warp {
  u32 ready;       // lanes that could run: not begun, or released
  u32 alive;       // lanes that have not returned
  u32 waiting;     // lanes that wait for others of their group
  u32 converging;  // lanes that wait until no other lane of the warp can run
  u32 meeting;     // lanes that wait before a volatile access until no other lane of the warp can run
  u32 rounds;      // how often some of these went on without the others
  u32 steps;       // how often lanes of the warp were ordered
  u32 turns;       // how often a loop elsewhere let the warp run while they waited
  u32 order[WARP];  // the access of each, by its place in the program
  u32 group[WARP];  // the group that each waiting lane wants
  u32 site[WARP];
  u32 operation[WARP];
  u32 argument[WARP];
  u64 value[WARP];
  u64 result[WARP];
};

struct Barrier {
  u32 arrived, expected;  // expected: 0 means all threads that have not returned
  u32 count;              // of the predicates that were true
  u32 result;
  u32 site, first;     // of the first thread that arrived
  u32 sleepers;        // warps that have some
  u32 who[MAX_WARPS];  // lanes that sleep
};

struct Touch;

struct Team {
  u64 mapped_bytes;  // of the whole workspace; Python reads this word and unmaps it
  u64 layout;        // of the runtime that made it
  u64 first_stack;   // address

  const tle_region* region;
  const tle_region_call* call;
  void* const* args;
  u32 threads, live;
  u32 program[3], grid[3];
  u64 grid_memory;  // of a grid of one program
  u8* shared;
  void* host;  // the kernel's own stack
  Slot* free;
  u32 stacks;
  u32 ready_warps, converging_warps;
  u32 failed, has_printed;
  u64 clock;
  u8* shadow;  // debug: what has been written, a byte for each byte of shared memory and of Out tiles
  u64 shadow_bytes;
  u64 shadow_of_tile[MAX_TILES];
  Touch* touched;  // debug: who was last at each byte of shared memory and of tiles, see races.h
  u64 touched_bytes;
  u64 touched_of_tile[MAX_TILES];
  u32 period;  // how often threads of the block were ordered
  Barrier barriers[BARRIERS];
  Warp warps[MAX_WARPS];
  Slot* slots[MAX_THREADS];  // null: the thread has not begun
  char message[1024];
  char unheard;  // what a message is written to that nobody will read
  // Loops that wait: see waiting.h.
  u32 idle, news;
  Slot* asking;  // the thread that asks the launch whether to go on
  i32 verdict;
  i32 question;  // what it asks; 0 is whether anything happens
  u32 cluster_arrivals, cluster_told, cluster_left;  // of the block's threads: see cluster.h
  u8 seen[SEEN_BITS / 8];
};

constexpr u64 LAYOUT = 0x74656100 + 6;
constexpr u64 align_up(u64 value, u64 to) { return (value + to - 1) / to * to; }
constexpr u64 SHARED_OFFSET = align_up(sizeof(Team), 4096);
constexpr u64 STACKS_OFFSET = align_up(SHARED_OFFSET + SHARED_BYTES + 4096, 4096);
constexpr u64 MAPPED_BYTES = STACKS_OFFSET + (MAX_THREADS + 1) * STACK_BYTES;  // one more, for their alignment

extern "C" void* mmap(void* address, unsigned long size, int protection, int flags, int file, long offset);

// Pages that nobody has touched cost nothing: the mapping is large, the memory in use is not.
TLE_INLINE void* map_memory(u64 bytes) {
  constexpr int READ_WRITE = 3, PRIVATE = 2, ANONYMOUS = 0x20, NO_RESERVE = 0x4000;
  void* memory = mmap(nullptr, bytes, READ_WRITE, PRIVATE | ANONYMOUS | NO_RESERVE, -1, 0);
  return memory == reinterpret_cast<void*>(-1) ? nullptr : memory;
}

// The worker's team, made at its first region.
TLE_INLINE Team* workspace(void** word) {
  Team* team = static_cast<Team*>(*word);
  if (team) return team;
  team = static_cast<Team*>(map_memory(MAPPED_BYTES));
  if (!team) return nullptr;
  team->mapped_bytes = MAPPED_BYTES;
  team->layout = LAYOUT;
  const u64 address = reinterpret_cast<u64>(team);
  team->first_stack = align_up(address + STACKS_OFFSET, STACK_BYTES);
  team->shared = reinterpret_cast<u8*>(address + SHARED_OFFSET);
  *word = team;
  return team;
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_WORKSPACE_H
