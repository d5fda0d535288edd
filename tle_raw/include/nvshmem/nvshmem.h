// NVSHMEM's device functions, as its version 3 has them: declarations alone, for code that its bitcode is linked to.
//
// The headers of NVIDIA's wheel declare the host's functions too and define the collectives, which clang refuses where it
// compiles for a device alone. https://docs.nvidia.com/nvshmem/api/ says what the functions do.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define TLE_SHMEM extern "C" __device__

enum { NVSHMEM_CMP_EQ, NVSHMEM_CMP_NE, NVSHMEM_CMP_GT, NVSHMEM_CMP_LE, NVSHMEM_CMP_LT, NVSHMEM_CMP_GE };
enum { NVSHMEM_SIGNAL_SET = 9, NVSHMEM_SIGNAL_ADD = 10 };
typedef int32_t nvshmem_team_t;
enum { NVSHMEM_TEAM_INVALID = -1, NVSHMEM_TEAM_WORLD = 0, NVSHMEM_TEAM_SHARED = 1, NVSHMEMX_TEAM_NODE = 2 };

TLE_SHMEM int nvshmem_my_pe();
TLE_SHMEM int nvshmem_n_pes();
TLE_SHMEM int nvshmem_team_my_pe(nvshmem_team_t team);
TLE_SHMEM int nvshmem_team_n_pes(nvshmem_team_t team);
TLE_SHMEM int nvshmem_team_translate_pe(nvshmem_team_t from, int pe, nvshmem_team_t to);
TLE_SHMEM void* nvshmem_ptr(const void* place, int pe);

TLE_SHMEM void nvshmem_fence();
TLE_SHMEM void nvshmem_quiet();
TLE_SHMEM void nvshmem_barrier_all();
TLE_SHMEM int nvshmem_barrier(nvshmem_team_t team);
TLE_SHMEM void nvshmem_sync_all();
TLE_SHMEM int nvshmem_team_sync(nvshmem_team_t team);

TLE_SHMEM uint64_t nvshmem_signal_fetch(uint64_t* signal);
TLE_SHMEM uint64_t nvshmem_signal_wait_until(uint64_t* signal, int compare, uint64_t value);

#define TLE_SHMEM_TYPES(DO)                                                                                           \
  DO(float, float) DO(double, double) DO(half, __half) DO(bfloat16, __nv_bfloat16) DO(char, char)                     \
  DO(schar, signed char) DO(short, short) DO(int, int) DO(long, long) DO(longlong, long long)                         \
  DO(uchar, unsigned char) DO(ushort, unsigned short) DO(uint, unsigned int) DO(ulong, unsigned long)                 \
  DO(ulonglong, unsigned long long) DO(int8, int8_t) DO(int16, int16_t) DO(int32, int32_t) DO(int64, int64_t)         \
  DO(uint8, uint8_t) DO(uint16, uint16_t) DO(uint32, uint32_t) DO(uint64, uint64_t) DO(size, size_t)                  \
  DO(ptrdiff, ptrdiff_t)

#define TLE_SHMEM_OF_TYPE(NAME, T)                                                                                    \
  TLE_SHMEM void nvshmem_##NAME##_p(T* dest, const T value, int pe);                                                  \
  TLE_SHMEM T nvshmem_##NAME##_g(const T* source, int pe);                                                            \
  TLE_SHMEM void nvshmem_##NAME##_put(T* dest, const T* source, size_t count, int pe);                                \
  TLE_SHMEM void nvshmem_##NAME##_get(T* dest, const T* source, size_t count, int pe);                                \
  TLE_SHMEM void nvshmem_##NAME##_put_nbi(T* dest, const T* source, size_t count, int pe);                            \
  TLE_SHMEM void nvshmem_##NAME##_get_nbi(T* dest, const T* source, size_t count, int pe);                            \
  TLE_SHMEM void nvshmem_##NAME##_iput(T* dest, const T* source, ptrdiff_t to, ptrdiff_t from, size_t count, int pe); \
  TLE_SHMEM void nvshmem_##NAME##_iget(T* dest, const T* source, ptrdiff_t to, ptrdiff_t from, size_t count, int pe); \
  TLE_SHMEM void nvshmem_##NAME##_put_signal(                                                                         \
      T* dest, const T* source, size_t count, uint64_t* signal, uint64_t value, int operation, int pe);               \
  TLE_SHMEM void nvshmem_##NAME##_put_signal_nbi(                                                                     \
      T* dest, const T* source, size_t count, uint64_t* signal, uint64_t value, int operation, int pe);
TLE_SHMEM_TYPES(TLE_SHMEM_OF_TYPE)
#undef TLE_SHMEM_OF_TYPE

TLE_SHMEM void nvshmem_putmem(void* dest, const void* source, size_t bytes, int pe);
TLE_SHMEM void nvshmem_getmem(void* dest, const void* source, size_t bytes, int pe);
TLE_SHMEM void nvshmem_putmem_nbi(void* dest, const void* source, size_t bytes, int pe);
TLE_SHMEM void nvshmem_getmem_nbi(void* dest, const void* source, size_t bytes, int pe);
TLE_SHMEM void nvshmem_putmem_signal(
    void* dest, const void* source, size_t bytes, uint64_t* signal, uint64_t value, int operation, int pe);
TLE_SHMEM void nvshmem_putmem_signal_nbi(
    void* dest, const void* source, size_t bytes, uint64_t* signal, uint64_t value, int operation, int pe);

#define TLE_SHMEM_NUMBERS(DO)                                                                                         \
  DO(int, int) DO(long, long) DO(uint, unsigned int) DO(ulong, unsigned long)                                         \
  DO(ulonglong, unsigned long long) DO(int32, int32_t) DO(uint32, uint32_t) DO(uint64, uint64_t) DO(size, size_t)

#define TLE_SHMEM_OF_NUMBER(NAME, T)                                                                                  \
  TLE_SHMEM T nvshmem_##NAME##_atomic_fetch(const T* source, int pe);                                                 \
  TLE_SHMEM void nvshmem_##NAME##_atomic_set(T* dest, const T value, int pe);                                         \
  TLE_SHMEM T nvshmem_##NAME##_atomic_swap(T* dest, const T value, int pe);                                           \
  TLE_SHMEM T nvshmem_##NAME##_atomic_compare_swap(T* dest, const T expected, const T value, int pe);                 \
  TLE_SHMEM void nvshmem_##NAME##_wait_until(T* place, int compare, T value);                                         \
  TLE_SHMEM int nvshmem_##NAME##_test(T* place, int compare, T value);
#define TLE_SHMEM_OF_SUM(NAME, T)                                                                                     \
  TLE_SHMEM_OF_NUMBER(NAME, T)                                                                                        \
  TLE_SHMEM void nvshmem_##NAME##_atomic_inc(T* dest, int pe);                                                        \
  TLE_SHMEM T nvshmem_##NAME##_atomic_fetch_inc(T* dest, int pe);                                                     \
  TLE_SHMEM void nvshmem_##NAME##_atomic_add(T* dest, const T value, int pe);                                         \
  TLE_SHMEM T nvshmem_##NAME##_atomic_fetch_add(T* dest, const T value, int pe);
TLE_SHMEM_NUMBERS(TLE_SHMEM_OF_SUM)
TLE_SHMEM_OF_NUMBER(longlong, long long)
#undef TLE_SHMEM_OF_SUM
#undef TLE_SHMEM_OF_NUMBER
