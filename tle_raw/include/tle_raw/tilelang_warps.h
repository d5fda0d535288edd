// Warps of several kinds and the bulk copy engine, in a region of TileLang's: sm_90 and later. Clang only.
#ifndef TLE_RAW_TILELANG_WARPS_H
#define TLE_RAW_TILELANG_WARPS_H

#define TLE_RAW_INLINE static inline __attribute__((device)) __attribute__((always_inline))

namespace tle {
namespace tilelang {

// What TileLang writes as a call of one number: PTX's setmaxnreg, and a note of what the warps have now.
template <unsigned Count> TLE_RAW_INLINE void take_registers(unsigned& now) {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
  now = Count;
}
template <unsigned Count> TLE_RAW_INLINE void give_registers(unsigned& now) {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
  now = Count;
}

// All threads of the launch wait for each other, the idle ones too.
TLE_RAW_INLINE void wait_for_block() { asm volatile("bar.sync 0;" ::: "memory"); }

// Every warp has again what it had at the launch. All are here first: a warp that wants registers asks over and over,
// and would take time from those that still compute.
template <unsigned Launch> TLE_RAW_INLINE void return_registers(unsigned now) {
  wait_for_block();
  if (now > Launch) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Launch));
  if (now < Launch) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Launch));
}

// The first `Threads` threads of a block wait for each other; Triton's barrier is that of all of them.
template <unsigned Threads> TLE_RAW_INLINE void wait_for_threads() {
  asm volatile("bar.sync 15, %0;" ::"n"(Threads) : "memory");
}

// After barriers of an earlier use: their memory is plain memory again.
template <class Barrier> TLE_RAW_INLINE void end_barriers(Barrier* barriers, int count) {
  if (threadIdx.x != 0) return;
  for (int i = 0; i < count; ++i)
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"((unsigned)__cvta_generic_to_shared(barriers + i)) : "memory");
}

// What threads wrote is seen by copies of the bulk copy engine, and the other way round.
TLE_RAW_INLINE void order_with_bulk_copies() { asm volatile("fence.proxy.async;" ::: "memory"); }
// This thread's bulk copies to global memory are done.
TLE_RAW_INLINE void finish_bulk_stores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

}  // namespace tilelang
}  // namespace tle

#undef TLE_RAW_INLINE
#endif  // TLE_RAW_TILELANG_WARPS_H
