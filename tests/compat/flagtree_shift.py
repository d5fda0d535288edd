"""A program for several GPUs as FlagTree's users write it, with NVSHMEM's device library."""

import triton

from tle_raw.compat import flagtree

flagtree.install()

import triton.experimental.tle.language.raw as raw  # noqa: E402
from triton.experimental.tle.raw import dialect  # noqa: E402

SHIFT = """
#include <nvshmem.h>
#include <nvshmemx.h>

extern "C" __device__ void shift(int *destination) {
  int me = nvshmem_my_pe(), all = nvshmem_n_pes(), peer = (me + 1) % all;
  if (threadIdx.x == 0) nvshmem_int_p(destination, me, peer);
  if (threadIdx.x == 0) nvshmem_int_p(destination + 1, all, peer);
  nvshmem_quiet();
}
"""


@dialect(name="cuda", library="nvshmem", compiler="clang", source=SHIFT, extern_func_name="shift")
def shift(*args, **kwargs): ...


@triton.jit
def shift_kernel(destination):
    raw.call(shift, [destination], output_indices=[])
