// What CUDA's device runtime does for a thread: printf, assert, traps, and atomics that the host has no instruction for.
#ifndef TLE_RAW_TEAM_SERVICES_H
#define TLE_RAW_TEAM_SERVICES_H

#include <tle_raw/team/schedule.h>
#include <tle_raw/team/small_floats.h>

namespace tle::team {

extern "C" int snprintf(char* to, unsigned long size, const char* format, ...);
extern "C" int printf(const char* format, ...);

// The device's vprintf gets its arguments packed: each at its own alignment, floats as double.
struct Packed {
  const u8* at;
  template <class T> T next() {
    at = reinterpret_cast<const u8*>((reinterpret_cast<u64>(at) + sizeof(T) - 1) & ~(sizeof(T) - 1));
    T value;
    __builtin_memcpy(&value, at, sizeof(T));
    at += sizeof(T);
    return value;
  }
};

TLE_INLINE bool is_one_of(char c, const char* set) {
  for (; *set; ++set)
    if (*set == c) return true;
  return false;
}

// Lines of different programs must not mix: the whole text is put together before it is written.
static int print(const char* format, const void* arguments) {
  char line[2048], piece[32];
  u64 used = 0;
  int converted = 0;
  Packed packed{static_cast<const u8*>(arguments)};
  const auto room = [&] { return sizeof(line) - used; };
  const auto add = [&](int written) { used += written < 0 ? 0 : u64(written) < room() ? u64(written) : room() - 1; };
  for (const char* c = format; *c && room() > 1; ++c) {
    if (*c != '%' || c[1] == '%') {
      c += *c == '%';
      line[used++] = *c;
      continue;
    }
    int length = 0, longs = 0;
    for (piece[length++] = *c++; *c && !is_one_of(*c, "diouxXcsfFeEgGaAp"); ++c) {
      longs += is_one_of(*c, "lzjt");
      if (*c == '*') length += snprintf(piece + length, sizeof(piece) - u64(length) - 4, "%d", packed.next<int>());
      else if (length < 24) piece[length++] = *c;
    }
    if (!*c) break;
    piece[length++] = *c;
    piece[length] = 0;
    ++converted;
    char* to = line + used;
    if (*c == 's') add(snprintf(to, room(), piece, packed.next<const char*>()));
    else if (*c == 'p') add(snprintf(to, room(), piece, packed.next<void*>()));
    else if (is_one_of(*c, "fFeEgGaA")) add(snprintf(to, room(), piece, packed.next<double>()));
    else if (longs) add(snprintf(to, room(), piece, packed.next<i64>()));
    else add(snprintf(to, room(), piece, packed.next<int>()));
  }
  line[used] = 0;
  printf("%s", line);
  return converted;
}

TLE_INLINE u32 add_halves(u32 a, u32 b, u32 format) {
  const Format f = format_of(format);
  const u32 low = narrow(widen(a & 0xffff, f) + widen(b & 0xffff, f), f, NEAREST, false);
  const u32 high = narrow(widen(a >> 16, f) + widen(b >> 16, f), f, NEAREST, false);
  return high << 16 | low;
}

}  // namespace tle::team

extern "C" {

TLE_COMPILED int tle_team_print(const char* format, const void* arguments) {
  tle::team::self()->team->has_printed = 1;
  return tle::team::print(format, arguments);
}

TLE_COMPILED void tle_team_assert_failed(const char* condition, const char* file, u32 line, const char* function) {
  using namespace tle::team;
  Slot* me = self();
  const tle_site place{file, line, 0};
  Message message(me->team);
  tell_thread(message, me).text(": the assertion `").text(condition).text("` failed in ").text(function).text(" (").place(place).text(")");
  write_status(me->team, ASSERTION, 0);
  if (i64* status = static_cast<i64*>(me->team->call->context[STATUS])) {
    status[FILE_NAME] = reinterpret_cast<i64>(file);
    status[LINE] = line;
  }
  tle_team_switch(&me->stack_pointer, me->team->host);
}

TLE_COMPILED void tle_team_trap(u32 site) {
  using namespace tle::team;
  Message message(self()->team);
  tell_thread(message, self()).text(" executed __trap()");
  give_up(self()->team, TRAP, site);
}

// A thread that exits in the middle of a function, as PTX's `exit` lets it.
TLE_COMPILED void tle_team_exit() { tle::team::leave(tle::team::self()); }
// A thread of the launch that the block does not have: no barrier counts it.
TLE_COMPILED void tle_team_idle() {
  tle::team::self()->site = tle::team::IDLE;
  tle::team::leave(tle::team::self());
}

// atom.add of two 16-bit floats: 0 half, 1 bfloat16. The single ones work on the 4 bytes around them.
TLE_EXPORTED u32 tle_team_atomic_add_pair(u32* place, u32 value, u32 format) {
  u32 old = __atomic_load_n(place, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(place, &old, tle::team::add_halves(old, value, format), true, 5, 5)) {}
  return old;
}

TLE_EXPORTED u32 tle_team_atomic_add_small(u16* place, u32 value, u32 format) {
  const tle::team::Format f = tle::team::format_of(format);
  u16 old = __atomic_load_n(place, __ATOMIC_RELAXED), sum;
  do sum = u16(tle::team::narrow(tle::team::widen(old, f) + tle::team::widen(value, f), f, tle::team::NEAREST, false));
  while (!__atomic_compare_exchange_n(place, &old, sum, true, 5, 5));
  return old;
}
}

#endif  // TLE_RAW_TEAM_SERVICES_H
