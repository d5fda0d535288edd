// What all compute kernels need.
#pragma once
#include "api/compile_time_args.h"
#include "simulator/circular_buffer_calls.h"
#include "simulator/compute_calls.h"

#define ALWI inline __attribute__((always_inline))
// The three threads of a compute kernel are one here: parts for one of them are for all.
#define MATH(...) __VA_ARGS__
#define PACK(...) __VA_ARGS__
#define UNPACK(...) __VA_ARGS__

#ifndef DST_ACCUM_MODE
#define DST_ACCUM_MODE false
#endif
#ifndef TT_SIM_RELEASE
#define TT_SIM_RELEASE 8101
#endif

// The SDK has these in this namespace, and uses it.
namespace ckernel {
using tt::DataFormat;
inline void tile_regs_acquire(TT_SIM_SITE) { tt_sim::acquire(site); }
inline void tile_regs_commit(TT_SIM_SITE) { tt_sim::commit(site); }
inline void tile_regs_wait(TT_SIM_SITE) { tt_sim::wait_for_math(site); }
inline void tile_regs_release(TT_SIM_SITE) { tt_sim::release(site); }
}  // namespace ckernel
using namespace ckernel;

void kernel_main();
