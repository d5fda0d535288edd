// tle::barrier: a barrier of the kernel (tle.gpu.alloc_barrier), as a fragment of tle_raw sees it.
//
// It counts phases. A phase is complete when all its arrivals and all bytes that were announced for it have come; the
// next one begins at once. The kernel's functions and these count in the same eight bytes of shared memory, PTX's
// mbarrier.
//
//     #include <tle_raw/barrier.h>
//     #include <tle_raw/tile.h>
//     template <int N>
//     __device__ void fetch(tle::tile<float, N> to, const float* from, tle::barrier full) {
//       if (to.thread() == 0) {
//         full.expect(N * sizeof(float));                        // one arrival, and so many bytes
//         full.copy(to.data(), from, N * sizeof(float));         // brings them
//       }
//     }
//
// What each member does, it does for the calling thread alone: a thread's arrival says that this thread's own accesses
// are done. Where it stands for those of the whole block, put a __syncthreads() in front of it.
#ifndef TLE_RAW_BARRIER_H
#define TLE_RAW_BARRIER_H

#if defined(__CUDA__) && defined(__clang__)
#define TLE_RAW_DEVICE_FUNCTION __attribute__((device)) __attribute__((always_inline)) inline
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define TLE_RAW_DEVICE_FUNCTION __device__ __forceinline__
#else
#error "tle_raw/barrier.h is for CUDA: barriers are memory of a GPU's block"
#endif

namespace tle {

namespace detail {
// Bytes are counted from sm_90 on, and on CPUs (TLE_RAW_TEAM).
template <int Arch> struct counts_bytes { static constexpr bool value = Arch >= 900; };
#if defined(TLE_RAW_TEAM)
template <> struct counts_bytes<800> { static constexpr bool value = true; };
#endif
#if defined(__CUDA_ARCH__)
constexpr int arch = __CUDA_ARCH__;
#else
constexpr int arch = 900;  // the host's pass over device code
#endif
}  // namespace detail

class barrier {
 public:
  // `first` is the use that waits for the first phase: 1 where use 0 passes at once (init=tle.gpu.READY).
  TLE_RAW_DEVICE_FUNCTION explicit barrier(void* word, int first = 0) : word_(word), first_(first) {}

  // Whether the phase of this use is complete: use 0 is the first, as in tle.gpu.barrier_wait. May block for a while.
  TLE_RAW_DEVICE_FUNCTION bool test(int use) const {
    unsigned done;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    asm volatile(
        "{\n .reg .pred complete;\n mbarrier.test_wait.parity.shared.b64 complete, [%1], %2;\n"
        " selp.u32 %0, 1, 0, complete;\n}"
        : "=r"(done) : "r"(address()), "r"(parity(use)) : "memory");
#else
    asm volatile(
        "{\n .reg .pred complete;\n mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
        " selp.u32 %0, 1, 0, complete;\n}"
        : "=r"(done) : "r"(address()), "r"(parity(use)) : "memory");
#endif
    return done != 0;
  }

  // Wait for the phase of this use. Afterwards the thread sees what was done before its arrivals, and its copies.
  TLE_RAW_DEVICE_FUNCTION void wait(int use) const {
    while (!test(use)) {
    }
  }

  // So many arrivals. More than one at a time need sm_90; before it they are made one by one.
  TLE_RAW_DEVICE_FUNCTION void arrive(int count = 1) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    for (int i = 0; i < count; ++i) {
      unsigned long long state;
      asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(address()) : "memory");
    }
#else
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(count) : "memory");
#endif
  }

  // One arrival, and the announcement of so many bytes, which copies bring.
  template <int Arch = detail::arch> TLE_RAW_DEVICE_FUNCTION void expect(int bytes) const {
    static_assert(detail::counts_bytes<Arch>::value, "a barrier counts the bytes of copies from sm_90 on");
    if constexpr (detail::counts_bytes<Arch>::value)
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
  }

  // Copy so many bytes from global memory into the block's shared memory, in the background; they are announced before
  // by expect(). Bytes and both addresses are multiples of 16. What threads wrote there before, they hand over by
  // fence() and a __syncthreads(), unless it was done before the region: the kernel does both at its border.
  template <int Arch = detail::arch> TLE_RAW_DEVICE_FUNCTION void copy(void* to, const void* from, int bytes) const {
    static_assert(detail::counts_bytes<Arch>::value, "copies of many bytes that a barrier counts need sm_90");
    if constexpr (detail::counts_bytes<Arch>::value)
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                       shared_address(to)), "l"(global_address(from)), "r"(bytes), "r"(address()) : "memory");
  }

  // One arrival that comes when all cp.async which the calling thread has issued are done.
  TLE_RAW_DEVICE_FUNCTION void arrive_after_copies() const {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address()) : "memory");
  }

  // What the calling thread wrote into shared memory is seen by copies in the background that follow.
  static TLE_RAW_DEVICE_FUNCTION void fence() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  }

  // The eight bytes: their address in shared memory as PTX takes it, and as a pointer.
  TLE_RAW_DEVICE_FUNCTION unsigned address() const { return shared_address(word_); }
  TLE_RAW_DEVICE_FUNCTION unsigned long long* word() const { return static_cast<unsigned long long*>(word_); }

 private:
  static TLE_RAW_DEVICE_FUNCTION unsigned shared_address(const void* pointer) {
#if defined(__clang__)
    using shared = const __attribute__((address_space(3))) char;
    return static_cast<unsigned>(reinterpret_cast<unsigned long long>((shared*)pointer));
#else
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
#endif
  }

  static TLE_RAW_DEVICE_FUNCTION unsigned long long global_address(const void* pointer) {
#if defined(__clang__)
    using global = const __attribute__((address_space(1))) char;
    return reinterpret_cast<unsigned long long>((global*)pointer);
#else
    return static_cast<unsigned long long>(__cvta_generic_to_global(pointer));
#endif
  }

  TLE_RAW_DEVICE_FUNCTION unsigned parity(int use) const { return static_cast<unsigned>(use + first_) & 1u; }

  void* word_;
  int first_;
};

}  // namespace tle

#endif  // TLE_RAW_BARRIER_H
