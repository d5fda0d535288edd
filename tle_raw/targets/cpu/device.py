"""What Triton is told of the CPU as a device: numbers that stand for it."""

WARP_SIZE = 32  # fragments of CUDA see num_warps * 32 threads
# torch numbers the CPU -1. Kernels are kept per device, so that those with checks count as another device's.
DEVICE, DEVICE_WITH_CHECKS = -1, -2
