// Members that CUDA's description of a device had before version 13, for programs of that time.
#ifndef TLE_RAW_CUDA_BEFORE_13_H
#define TLE_RAW_CUDA_BEFORE_13_H

#include <cuda_runtime_api.h>

#if CUDART_VERSION >= 13000
struct tle_raw_cudaDeviceProp : cudaDeviceProp {
  int clockRate, deviceOverlap, kernelExecTimeoutEnabled, computeMode, maxTexture1DLinear, memoryClockRate;
  int singleToDoublePrecisionPerfRatio, cooperativeMultiDeviceLaunch;
};
#define cudaDeviceProp tle_raw_cudaDeviceProp
#endif

#endif  // TLE_RAW_CUDA_BEFORE_13_H
