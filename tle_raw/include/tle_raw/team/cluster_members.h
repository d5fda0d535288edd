// The blocks of a cluster: other programs of the launch, each on a thread and with a team of its own.
#ifndef TLE_RAW_TEAM_CLUSTER_MEMBERS_H
#define TLE_RAW_TEAM_CLUSTER_MEMBERS_H

#include <tle_raw/team/schedule.h>

namespace tle::team {

// Null where programs run alone.
TLE_INLINE void** group_of(const Team* team) { return static_cast<void**>(team->call->context[GROUP]); }
TLE_INLINE u64 group_word(const Team* team, u32 word) { return reinterpret_cast<u64>(group_of(team)[word]); }

TLE_INLINE u32 cluster_size(const Team* team) { return group_of(team) ? u32(group_word(team, BLOCKS)) : 1; }

TLE_INLINE u32 cluster_rank(const Team* team) {
  return group_of(team) ? u32(reinterpret_cast<u64>(team->call->context[MEMBER]) % group_word(team, BLOCKS)) : 0;
}

TLE_INLINE void** context_of(const Team* team, u32 rank) {
  if (!group_of(team)) return team->call->context;
  const u64 first = reinterpret_cast<u64>(team->call->context[MEMBER]) - cluster_rank(team);
  return static_cast<void**>(group_of(team)[CONTEXTS + first + rank]);
}

// A block's team; null where the cluster has no such block, or the block has not come to code with threads.
TLE_INLINE const Team* team_of(const Team* team, u32 rank) {
  if (rank >= cluster_size(team)) return nullptr;
  return static_cast<const Team*>(__atomic_load_n(&context_of(team, rank)[WORKSPACE], __ATOMIC_ACQUIRE));
}

// Whose shared memory this is; NONE for other memory. A kernel's own buffers lie in the scratch memory of each block.
TLE_INLINE u32 cluster_rank_of(const Team* team, const void* pointer) {
  for (u32 rank = 0; rank < cluster_size(team); ++rank) {
    const Team* other = team_of(team, rank);
    const u64 address = reinterpret_cast<u64>(pointer);
    if (other && address - reinterpret_cast<u64>(other->shared) < SHARED_BYTES) return rank;
    if (group_of(team) && address - reinterpret_cast<u64>(context_of(team, rank)[SCRATCH]) < group_word(team, SCRATCH_BYTES))
      return rank;
  }
  return NONE;
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_CLUSTER_MEMBERS_H
