"""A function with a hint that kernels of another file call."""

import triton
import triton.language as tl


@triton.jit
def staged(p, i):
    return tl.load(p + i)  # @hint: shared_memory
