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

// The state before: its top bit is the phase that this arrival belongs to.
TLE_EXPORTED u64 tle_team_mbarrier_arrive(tle::team::Mbarrier* barrier, u32 count, i64 bytes) {
  const u64 state = __builtin_bit_cast(u64, *barrier);
  barrier->bytes += u64(bytes);
  barrier->pending -= count;
  if (barrier->pending == 0 && barrier->bytes == 0) {
    barrier->pending = barrier->count;
    barrier->phase ^= 1;
  }
  return state;
}

// Whether the phase of this parity is over; if not, others run first.
TLE_COMPILED u32 tle_team_mbarrier_test(tle::team::Mbarrier* barrier, u64 phase, u32 site) {
  if (barrier->phase != (phase & 1)) return 1;
  tle::team::Slot* me = tle::team::self();
  me->site = site;
  tle::team::let_others_run(me, barrier, site);
  return __atomic_load_n(reinterpret_cast<u64*>(barrier), __ATOMIC_RELAXED) >> 63 != (phase & 1);
}
}

#endif  // TLE_RAW_TEAM_MBARRIER_H
