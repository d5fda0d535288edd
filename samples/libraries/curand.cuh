// cuRAND's device functions as functions of numbers: Philox counts, so that a state needs no memory.
#include <curand_kernel.h>

// A number in (0, 1], of 32 random bits.
__device__ inline float uniform(unsigned long long seed, unsigned long long sequence, unsigned long long offset) {
  curandStatePhilox4_32_10_t state;
  curand_init(seed, sequence, offset, &state);
  return curand_uniform(&state);
}

// A number of the standard normal distribution.
__device__ inline float normal(unsigned long long seed, unsigned long long sequence, unsigned long long offset) {
  curandStatePhilox4_32_10_t state;
  curand_init(seed, sequence, offset, &state);
  return curand_normal(&state);
}
