// Shuffles of 16-bit floats from before Volta, of which CUDA's headers keep those of numbers only.
#ifndef TLE_RAW_SMALL_SHUFFLES_H
#define TLE_RAW_SMALL_SHUFFLES_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define TLE_RAW_SHUFFLE(TYPE, NAME, LANES)                                               \
  __device__ inline TYPE NAME(TYPE value, LANES lanes, int width = warpSize) {           \
    return TYPE(TYPE##_raw{(unsigned short)NAME((int)TYPE##_raw(value).x, lanes, width)}); \
  }
TLE_RAW_SHUFFLE(__half, __shfl, int)
TLE_RAW_SHUFFLE(__half, __shfl_up, unsigned)
TLE_RAW_SHUFFLE(__half, __shfl_down, unsigned)
TLE_RAW_SHUFFLE(__half, __shfl_xor, int)
TLE_RAW_SHUFFLE(__nv_bfloat16, __shfl, int)
TLE_RAW_SHUFFLE(__nv_bfloat16, __shfl_up, unsigned)
TLE_RAW_SHUFFLE(__nv_bfloat16, __shfl_down, unsigned)
TLE_RAW_SHUFFLE(__nv_bfloat16, __shfl_xor, int)
#undef TLE_RAW_SHUFFLE

#endif  // TLE_RAW_SMALL_SHUFFLES_H
