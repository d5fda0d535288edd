// The epilogue of a matmul, gelu(accumulator + bias), in two ways.
#include <cuda_fp16.h>
#include <tle_raw/tile.h>

__device__ float gelu(float x) {  // the exact one; M_SQRT1_2 is the root of 1/2
  return 0.5f * x * (1.0f + erff(x * float(M_SQRT1_2)));
}

// The whole accumulator, in shared memory. It covers output columns first, first + 1, ...; columns in all.
template <int M, int N>
__device__ void bias_gelu_tile(tle::tile<float, M, N> t, const __half* bias, int first, int columns) {
  for (int i : t.indices()) {  // each thread takes its share
    const int column = first + i % N;
    if (column < columns) t[i] = gelu(t[i] + __half2float(bias[column]));
  }
}

// One element, in registers: no shared memory, and Triton may keep the accumulator where it is.
__device__ float bias_gelu(float x, float bias) { return gelu(x + bias); }
