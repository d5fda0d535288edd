// Quantisation to fp8 (e4m3, largest number 448), with one scale for each 128 columns of each row.
#include <cuda_fp8.h>
#include <tle_raw/tile.h>

// a / b, rounded right: the steps that the compiler itself writes for a division, without its call of a subroutine for
// numbers at the ends of the range. Here b is at least 2e-13, and where a / b is tiny, fp8 makes it 0 anyway.
__device__ float divide(float a, float b) {
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
  inverse = fmaf(fmaf(-b, inverse, 1.0f), inverse, inverse);
  const float quotient = a * inverse;
  return copysignf(fmaf(fmaf(-b, quotient, a), inverse, quotient), a);  // -0 stays -0; b is positive
}

// Q is f8e4m3 or u8; both are one byte, and each thread writes four of them at once.
template <typename Q, int M, int N, int G>
__device__ void quantise(tle::tile<const float, M, N> x, tle::tile<Q, M, N> q, tle::tile<float, M, G> scales) {
  static_assert(N == 128 * G && sizeof(Q) == 1, "a group is 128 columns");
  const auto x4 = x.template as<float4>();
  const auto q4 = q.template as<__nv_fp8x4_e4m3>();

  // One warp takes one group, a lane four columns. Groups lie one after the other: row-major, N = 128 * G.
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (int group = warp; group < M * G; group += warps) {
    const float4 v = x4[32 * group + lane];
    float top = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
    for (int step = 16; step; step /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));

    const float scale = divide(fmaxf(top, 1e-10f), 448);  // a group of zeros is divided by something, too
    // The conversion rounds to nearest, ties to even.
    q4[32 * group + lane] = __nv_fp8x4_e4m3(
        make_float4(divide(v.x, scale), divide(v.y, scale), divide(v.z, scale), divide(v.w, scale)));
    if (lane == 0) scales[group] = scale;
  }
}
