// Loops that wait until another thread, or another program of the launch, writes something.
//
// Before each access that such a loop may repeat the thread lets others run. Whether a program gets anywhere is seen
// from what its threads find in memory: a place with a value that it did not have before is news. After many turns
// without news the program asks the launch, which lets other programs begin, or says that nobody can go on.
#ifndef TLE_RAW_TEAM_WAITING_H
#define TLE_RAW_TEAM_WAITING_H

#include <tle_raw/team/barrier.h>

namespace tle::team {

constexpr u32 ACCESSES_PER_TURN = 64;
constexpr u32 TURNS_BEFORE_ASKING = 2048;
constexpr u32 TURNS_BETWEEN_QUESTIONS = 64;  // and one of each thread
constexpr u32 MOST_NEWS = SEEN_BITS / 8;  // more of them, and too much would look as if it had been seen

TLE_INLINE void forget_news(Team* team) {
  if (team->news) __builtin_memset(team->seen, 0, sizeof(team->seen));
  team->news = 0;
}

TLE_INLINE void begin_waiting(Team* team) {
  team->idle = 0;
  team->asking = nullptr;
  team->question = 0;
  team->cluster_arrivals = team->cluster_told = team->cluster_left = 0;
  forget_news(team);
}

// Whether the four bytes around a place were never seen with this value. Which places and values were seen is kept as
// one bit of their hash: a program that polls many places in turn still runs out of news.
TLE_INLINE bool is_news(Team* team, const void* place) {
  if (!place) return false;
  const u64 address = reinterpret_cast<u64>(place) & ~u64(3);
  const u32 value = __atomic_load_n(reinterpret_cast<const u32*>(address), __ATOMIC_RELAXED);
  u64 hash = (address ^ u64(value) << 32) * 0x9E3779B97F4A7C15ull;
  hash = (hash ^ hash >> 29) * 0xBF58476D1CE4E5B9ull;
  const u32 bit = u32(hash >> 32) % SEEN_BITS;
  if (team->seen[bit / 8] >> bit % 8 & 1) return false;
  if (team->news == MOST_NEWS) forget_news(team);
  ++team->news;
  team->seen[bit / 8] |= u8(1u << bit % 8);
  return true;
}

// Seldom at first, for questions take time; a program that waits already has nothing better to do.
TLE_INLINE bool has_to_ask(Team* team) {
  const u32 idle = ++team->idle;
  return idle >= TURNS_BEFORE_ASKING && (idle - TURNS_BEFORE_ASKING) % (TURNS_BETWEEN_QUESTIONS + team->threads) == 0;
}

// The launch is asked on the kernel's own stack, which has room for what it runs: see tle_team_run.
TLE_RARE static void ask_launch(Slot* me, u32 site) {
  Team* team = me->team;
  if (!team->call->context[WAIT]) return;
  team->asking = me;
  tle_team_switch(&me->stack_pointer, team->host);
  if (!team->verdict) return;
  Message message(team);
  tell_thread(message, me).text(" waits in a loop for memory that no program of the launch changes");
  give_up(team, STANDSTILL, site);
}

TLE_INLINE void answer(Team* team) {
  void** context = team->call->context;
  const auto ask = reinterpret_cast<i32 (*)(void**, i32)>(context[WAIT]);
  team->asking = nullptr;
  if (team->question) {
    context[WAIT_CHECK] = reinterpret_cast<void*>(u64(team->call->standstill));
    context[WAIT_ADDRESS] = nullptr;
  }
  team->verdict = ask(context, team->question ? team->question : team->idle == TURNS_BEFORE_ASKING);
  team->question = 0;
}

// A turn of a loop that may wait: `place` is what it looks at, or null.
TLE_RARE static void take_turn(Slot* me, const void* place, u32 site) {
  Team* team = me->team;
  if (is_news(team, place)) team->idle = 0;
  else if (__builtin_expect(has_to_ask(team), 0)) ask_launch(me, site);
}

TLE_RARE static void let_others_run(Slot* me, const void* place, u32 site) {
  Team* team = me->team;
  me->spins = 0;
  take_turn(me, place, site);
  make_ready(team, me->warp, 1u << me->lane);
  const u32 next = pick_in_order(team, u32(me->warp - team->warps), me->lane);
  if (next != me->index) sleep(me, 0, next);
}

// Before each atomic access: now and then. `place` is what is accessed, or null.
extern "C" TLE_EXPORTED __attribute__((always_inline)) void tle_team_spin(const void* place, u32 site) {
  Slot* me = self();
  if (__builtin_expect(++me->spins >= ACCESSES_PER_TURN, 0)) let_others_run(me, place, site);
}

// Where cooperative groups have the barrier of the grid: memory of the launch. Without it programs do not run together.
extern "C" TLE_EXPORTED u64 tle_team_grid_memory() {
  Slot* me = self();
  Team* team = me->team;
  if (void* memory = team->call->context[GRID_MEMORY]) return reinterpret_cast<u64>(memory);
  if (team->grid[0] * team->grid[1] * team->grid[2] > 1) {
    Message(team).text("all programs are to meet at a barrier of the grid, and here each runs to its end alone");
    give_up(team, STANDSTILL, 0);
  }
  return reinterpret_cast<u64>(&team->grid_memory);
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_WAITING_H
