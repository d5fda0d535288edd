// Barriers in shared memory (PTX's mbarrier): arrivals and bytes of copies are counted in one 64-bit word.
#ifndef TLE_RAW_TEAM_MBARRIER_H
#define TLE_RAW_TEAM_MBARRIER_H

#include <tle_raw/team/waiting.h>

namespace tle::team {

// The team's own encoding: nobody but these functions looks inside, but for bit 63, the phase, that a state carries.
struct Mbarrier {
  u64 bytes : 23;  // still to come; modulo 2^23
  u64 pending : 20;
  u64 count : 20;
  u64 phase : 1;
};
static_assert(sizeof(Mbarrier) == 8);

}  // namespace tle::team

extern "C" {

TLE_EXPORTED void tle_team_mbarrier_init(tle::team::Mbarrier* barrier, u32 count) {
  *barrier = {0, count, count, 0};
}

// The state before: its top bit is the phase that this arrival belongs to. Blocks of a cluster run at the same time, and
// each arrives at the barriers of the others: the word changes as a whole.
TLE_EXPORTED u64 tle_team_mbarrier_arrive(tle::team::Mbarrier* barrier, u32 count, i64 bytes) {
  u64* word = reinterpret_cast<u64*>(barrier);
  u64 state = __atomic_load_n(word, __ATOMIC_RELAXED), after;
  do {
    auto next = __builtin_bit_cast(tle::team::Mbarrier, state);
    next.bytes += u64(bytes);
    next.pending -= count;
    if (next.pending == 0 && next.bytes == 0) {
      next.pending = next.count;
      next.phase ^= 1;
    }
    after = __builtin_bit_cast(u64, next);
  } while (!__atomic_compare_exchange_n(word, &state, after, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  return state;
}

// Whether the phase of this parity is over; if not, others run first.
TLE_COMPILED u32 tle_team_mbarrier_test(tle::team::Mbarrier* barrier, u64 phase, u32 site) {
  const u64* word = reinterpret_cast<const u64*>(barrier);
  if (__atomic_load_n(word, __ATOMIC_ACQUIRE) >> 63 != (phase & 1)) return 1;
  tle::team::Slot* me = tle::team::self();
  me->site = site;
  tle::team::let_others_run(me, barrier, site);
  return __atomic_load_n(word, __ATOMIC_ACQUIRE) >> 63 != (phase & 1);
}
}

#endif  // TLE_RAW_TEAM_MBARRIER_H
