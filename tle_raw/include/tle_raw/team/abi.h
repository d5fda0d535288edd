// What a region on the CPU exchanges with the kernel around it: the call, the worker's context, the region's own facts.
//
// The runtime in this folder is compiled for the host, alone and without any other header, by the same clang that
// compiles the fragment; the fragment's LLVM IR is then linked with it. See tle_raw/emulation/__init__.py.
#ifndef TLE_RAW_TEAM_ABI_H
#define TLE_RAW_TEAM_ABI_H

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;

static_assert(sizeof(void*) == 8, "the team runs on 64-bit machines");

#define TLE_INLINE static inline __attribute__((always_inline))
#define TLE_RARE __attribute__((noinline, cold))
// Called from the fragment; whatever is not, is dropped when the two are linked. No parameter is narrower than 32 bits:
// who extends it is said by attributes that the fragment's side does not have.
#define TLE_EXPORTED
// The same for what is large: it reaches the kernel as machine code, compiled once and not with each kernel.
#define TLE_COMPILED __attribute__((noinline))

extern "C" {

// One call of a region. The kernel fills it anew for each call.
struct tle_region_call {
  u32 threads;     // num_warps * 32
  u32 program[3];  // blockIdx
  u32 grid[3];     // gridDim
  u32 standstill;  // the kernel's check for blocks of the cluster that never come
  void** context;  // the worker's context: see tle_raw/flir/cpu/__init__.py
};

struct tle_tile {
  u32 argument;  // index into args
  u32 is_out;    // nothing was written to it before the region
  u64 bytes;
};

// A line of the user's source.
struct tle_site {
  const char* file;
  u32 line, column;
};

// A variable of the fragment: where a global one starts; null for a shared one, which lies at an offset.
struct tle_variable {
  const char* name;
  const void* start;
  u64 offset, bytes;
};

// What the compiler knows of the region.
struct tle_region {
  void (*thread)(void* const* args);  // one thread's share
  const char* name;
  u64 shared_bytes;
  u32 debug;
  u32 tile_count;
  const tle_tile* tiles;
  const tle_site* sites;  // sites[0] is the fragment itself
  // Debug: memory that the fragment may touch beside the launch's arrays.
  u32 variable_count;
  u32 finds_memory;  // addresses may come from elsewhere, as malloc's do: what is not known is not outside
  const tle_variable* variables;
};

}  // extern "C"

namespace tle::team {

enum ContextField {
  SCRATCH, STATUS, WORKSPACE, FLAGS, RANGES, WAIT, WAIT_CHECK = 8, WAIT_ADDRESS, GRID_MEMORY = 11, GROUP, MEMBER,
  OWN_SCRATCH_BYTES = 15
};

constexpr u64 GRID_MEMORY_BYTES = 8;

// The record of programs that run together, of which some neighbours are a cluster; then the addresses of all contexts.
enum GroupField { ARRIVALS, SCRATCH_BYTES, PROGRAMS, BLOCKS, CONTEXTS };

// What a program of a group asks its launch: see tle_raw/flir/cpu/context_fields.py.
enum Question : i32 { ASK_ARRIVE = 2, ASK_WAIT_IN_CLUSTER = 3 };

// The status record: code, program x, y, z, then detail.
enum StatusField { CODE, PROGRAM_X, PROGRAM_Y, PROGRAM_Z, KIND, MESSAGE, FILE_NAME, LINE, ADDRESS };
constexpr i64 REGION_FAILED = -2;

enum Failure : u32 {
  DIVERGENT_BARRIER = 1,
  EXITED_AT_BARRIER,
  OUT_OF_BOUNDS,
  UNINITIALISED,
  ASSERTION,
  TRAP,
  NO_MEMORY,
  STACK_OVERFLOW,
  BAD_ADDRESS,
  STANDSTILL,
  OUTSIDE,
  NO_SUCH_BLOCK,
  WARP_MASK = 20,
  DIVISION,
  RACE,
};

constexpr u32 WARP = 32, MAX_THREADS = 1024, MAX_WARPS = MAX_THREADS / WARP;

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_ABI_H
