// NVSHMEM's extensions for devices: what a warp or a block does together, and signals. See nvshmem.h.
#pragma once

#include "nvshmem.h"

TLE_SHMEM void nvshmemx_signal_op(uint64_t* signal, uint64_t value, int operation, int pe);

#define TLE_SHMEM_TOGETHER(GROUP)                                                                                     \
  TLE_SHMEM void nvshmemx_putmem_##GROUP(void* dest, const void* source, size_t bytes, int pe);                       \
  TLE_SHMEM void nvshmemx_getmem_##GROUP(void* dest, const void* source, size_t bytes, int pe);                       \
  TLE_SHMEM void nvshmemx_putmem_nbi_##GROUP(void* dest, const void* source, size_t bytes, int pe);                   \
  TLE_SHMEM void nvshmemx_getmem_nbi_##GROUP(void* dest, const void* source, size_t bytes, int pe);                   \
  TLE_SHMEM void nvshmemx_putmem_signal_##GROUP(                                                                      \
      void* dest, const void* source, size_t bytes, uint64_t* signal, uint64_t value, int operation, int pe);         \
  TLE_SHMEM void nvshmemx_putmem_signal_nbi_##GROUP(                                                                  \
      void* dest, const void* source, size_t bytes, uint64_t* signal, uint64_t value, int operation, int pe);         \
  TLE_SHMEM void nvshmemx_barrier_all_##GROUP();                                                                      \
  TLE_SHMEM int nvshmemx_barrier_##GROUP(nvshmem_team_t team);                                                        \
  TLE_SHMEM void nvshmemx_sync_all_##GROUP();                                                                         \
  TLE_SHMEM int nvshmemx_team_sync_##GROUP(nvshmem_team_t team);
TLE_SHMEM_TOGETHER(warp)
TLE_SHMEM_TOGETHER(block)
#undef TLE_SHMEM_TOGETHER

#define TLE_SHMEM_TYPE_TOGETHER(NAME, T, GROUP)                                                                       \
  TLE_SHMEM void nvshmemx_##NAME##_put_##GROUP(T* dest, const T* source, size_t count, int pe);                       \
  TLE_SHMEM void nvshmemx_##NAME##_get_##GROUP(T* dest, const T* source, size_t count, int pe);                       \
  TLE_SHMEM void nvshmemx_##NAME##_put_nbi_##GROUP(T* dest, const T* source, size_t count, int pe);                   \
  TLE_SHMEM void nvshmemx_##NAME##_get_nbi_##GROUP(T* dest, const T* source, size_t count, int pe);                   \
  TLE_SHMEM void nvshmemx_##NAME##_put_signal_##GROUP(                                                                \
      T* dest, const T* source, size_t count, uint64_t* signal, uint64_t value, int operation, int pe);               \
  TLE_SHMEM void nvshmemx_##NAME##_put_signal_nbi_##GROUP(                                                            \
      T* dest, const T* source, size_t count, uint64_t* signal, uint64_t value, int operation, int pe);
#define TLE_SHMEM_TYPE_OF_BOTH(NAME, T)  \
  TLE_SHMEM_TYPE_TOGETHER(NAME, T, warp) \
  TLE_SHMEM_TYPE_TOGETHER(NAME, T, block)
TLE_SHMEM_TYPES(TLE_SHMEM_TYPE_OF_BOTH)
#undef TLE_SHMEM_TYPE_OF_BOTH
#undef TLE_SHMEM_TYPE_TOGETHER
