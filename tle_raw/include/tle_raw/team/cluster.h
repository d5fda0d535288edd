// What the threads of a block do with the other blocks of its cluster: barriers, and addresses of their shared memory.
//
// The block comes to the cluster's barrier when its last thread has arrived. Threads that wait meet first; the first of
// them that goes on asks the launch, which lets the whole block sleep until the others have come.
#ifndef TLE_RAW_TEAM_CLUSTER_H
#define TLE_RAW_TEAM_CLUSTER_H

#include <tle_raw/team/cluster_members.h>
#include <tle_raw/team/waiting.h>

namespace tle::team {

TLE_RARE static void ask_for_cluster(Slot* me, Question question, u32 site) {
  me->team->question = question;
  ask_launch(me, site);
}

TLE_INLINE void tell_arrival(Slot* me, u32 site) {
  me->team->cluster_told = 1;
  ask_for_cluster(me, ASK_ARRIVE, site);
}

[[noreturn]] TLE_RARE static void report_no_such_block(Slot* me, u32 rank, u32 site) {
  Message(me->team).text("thread ").number(me->index).text(" reaches for block ").number(i32(rank))
      .text(" of a cluster of ").number(cluster_size(me->team));
  give_up(me->team, NO_SUCH_BLOCK, site);
}

[[noreturn]] TLE_RARE static void report_not_mapped(Slot* me, u32 rank, u32 site) {
  Message(me->team).text("thread ").number(me->index).text(" reaches into the shared memory of block ").number(rank)
      .text(" of its cluster before that block has begun, or by an address that is not of shared memory");
  give_up(me->team, BAD_ADDRESS, site);
}

extern "C" {

TLE_EXPORTED u32 tle_team_cluster_size() { return cluster_size(self()->team); }
TLE_EXPORTED u32 tle_team_cluster_rank() { return cluster_rank(self()->team); }

// Whose shared memory an address is of; the own one for others.
TLE_EXPORTED u32 tle_team_cluster_rank_of(const void* pointer) {
  const Team* team = self()->team;
  const u32 rank = cluster_rank_of(team, pointer);
  return rank == NONE ? cluster_rank(team) : rank;
}

TLE_EXPORTED u32 tle_team_is_of_cluster(const void* pointer) { return cluster_rank_of(self()->team, pointer) != NONE; }

// barrier.cluster.arrive
TLE_COMPILED void tle_team_cluster_arrive(u32 site) {
  Slot* me = self();
  Team* team = me->team;
  if (cluster_size(team) == 1) return;
  if (++team->cluster_arrivals >= team->live && !team->cluster_told) tell_arrival(me, site);
}

// barrier.cluster.wait
TLE_COMPILED void tle_team_cluster_wait(u32 site) {
  Slot* me = self();
  Team* team = me->team;
  wait_at_barrier(CLUSTER_BARRIER, 0, false, site);
  if (cluster_size(team) == 1) return;
  if (!team->cluster_left) {
    team->cluster_left = team->live;
    if (!team->cluster_told) tell_arrival(me, site);
    ask_for_cluster(me, ASK_WAIT_IN_CLUSTER, site);
    team->cluster_told = team->cluster_arrivals = 0;
  }
  --team->cluster_left;
}

// mapa: the same place in another block's shared memory
TLE_EXPORTED void* tle_team_cluster_map(u8* pointer, u32 rank, u32 site) {
  Slot* me = self();
  const Team* team = me->team;
  if (rank >= cluster_size(team)) report_no_such_block(me, rank, site);
  if (rank == cluster_rank(team)) return pointer;
  const Team* other = team_of(team, rank);
  const u64 offset = u64(pointer - team->shared);
  if (other && offset < SHARED_BYTES) return other->shared + offset;
  const u64 in_scratch = u64(pointer - static_cast<u8*>(team->call->context[SCRATCH]));
  if (in_scratch < group_word(team, SCRATCH_BYTES)) return static_cast<u8*>(context_of(team, rank)[SCRATCH]) + in_scratch;
  report_not_mapped(me, rank, site);
}
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_CLUSTER_H
