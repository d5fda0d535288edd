// How a failure leaves the team: a text in the worker's workspace, a line, and the worker's status record.
#ifndef TLE_RAW_TEAM_REPORT_H
#define TLE_RAW_TEAM_REPORT_H

#include <tle_raw/team/workspace.h>

namespace tle::team {

// Writes a message, piece by piece; what does not fit is left out.
struct Message {
  char *at, *end;
  explicit Message(Team* team) : at(team->message), end(team->message + sizeof(team->message) - 1) {
    const i64* status = static_cast<const i64*>(team->call->context[STATUS]);
    if (status && status[CODE]) at = end = &team->unheard;  // the kernel goes on, and the first failure's text stays
    *at = 0;
  }
  Message& text(const char* part) {
    while (part && *part && at < end) *at++ = *part++;
    *at = 0;
    return *this;
  }
  Message& number(i64 value) {
    char digits[24];
    int count = 0;
    u64 rest = value < 0 ? -u64(value) : u64(value);
    do digits[count++] = char('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) digits[count++] = '-';
    while (count && at < end) *at++ = digits[--count];
    *at = 0;
    return *this;
  }
  Message& hexadecimal(u64 value) {
    text("0x");
    int shift = 60;
    while (shift && !(value >> shift)) shift -= 4;
    for (; shift >= 0 && at < end; shift -= 4) *at++ = "0123456789abcdef"[value >> shift & 15];
    *at = 0;
    return *this;
  }
  // "foo.cu:12"; the folder is left out
  Message& place(const tle_site& site) {
    const char* name = site.file;
    for (const char* c = site.file; *c; ++c)
      if (*c == '/') name = c + 1;
    return text(name).text(":").number(site.line);
  }
};

// Who does something: a thread of a block, or a function of elements, which has one.
TLE_INLINE Message& tell_thread(Message& message, const Slot* me) {
  if (me->team->threads == 1) return message.text("`").text(me->team->region->name).text("`");
  return message.text("thread ").number(me->index);
}

// The first failure of a launch is the one that is kept.
TLE_INLINE void write_status(Team* team, Failure kind, u32 site) {
  team->failed = kind;
  i64* status = static_cast<i64*>(team->call->context[STATUS]);
  i64 none = 0;
  if (!status || !__atomic_compare_exchange_n(&status[CODE], &none, REGION_FAILED, false, 5, 5)) return;
  for (int axis = 0; axis < 3; ++axis) status[PROGRAM_X + axis] = team->program[axis];
  status[KIND] = kind;
  status[MESSAGE] = reinterpret_cast<i64>(team->message);
  status[FILE_NAME] = reinterpret_cast<i64>(team->region->sites[site].file);
  status[LINE] = team->region->sites[site].line;
}

// Give the region up: its threads are never run again, and the kernel goes on where it called.
[[noreturn]] TLE_RARE static void give_up(Team* team, Failure kind, u32 site) {
  write_status(team, kind, site);
  void* nowhere;
  tle_team_switch(&nowhere, team->host);
  __builtin_unreachable();
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_REPORT_H
