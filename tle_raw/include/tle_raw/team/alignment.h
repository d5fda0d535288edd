// Addresses of asynchronous copies: a GPU ends the kernel where one is no multiple of what is copied at once.
#ifndef TLE_RAW_TEAM_ALIGNMENT_H
#define TLE_RAW_TEAM_ALIGNMENT_H

#include <tle_raw/team/schedule.h>

namespace tle::team {

[[noreturn]] TLE_RARE static void report_misaligned(const u8* pointer, u64 bytes, u32 site) {
  Message(self()->team).text("thread ").number(self()->index).text(" copies ").number(i64(bytes))
      .text(" bytes at once, from or to an address that is ").number(i64(reinterpret_cast<u64>(pointer) % bytes))
      .text(" bytes beyond a multiple of ").number(i64(bytes));
  give_up(self()->team, OUT_OF_BOUNDS, site);
}

}  // namespace tle::team

extern "C" TLE_EXPORTED void tle_team_check_copy(const u8* to, const u8* from, u64 bytes, u32 site) {
  if (reinterpret_cast<u64>(to) % bytes) tle::team::report_misaligned(to, bytes, site);
  if (reinterpret_cast<u64>(from) % bytes) tle::team::report_misaligned(from, bytes, site);
}

#endif  // TLE_RAW_TEAM_ALIGNMENT_H
