"""Blocks of a cluster in CUDA code, for the CPU and for GPUs: kernels, and what they give by NumPy."""

import numpy as np
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tle_raw import InOut, Scalar, Tile

HEAD = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
"""
SWAP = (
    HEAD
    + """
__global__ void __cluster_dims__(CLUSTER, 1, 1) swap(float* o, const float* x) {
  __shared__ float s[64];
  auto cluster = cg::this_cluster();
  s[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  cluster.sync();
  unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  o[blockIdx.x * 64 + threadIdx.x] = cluster.map_shared_rank(s, next)[threadIdx.x];
  cluster.sync();
}
"""
)
# The sum of all values of a cluster: each block adds its own to the first one's, by atomics in shared memory.
SUM = (
    HEAD
    + """
__global__ void total(double* o, const float* x, int n) {
  __shared__ double sum;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) sum = 0;
  cluster.sync();
  double own = 0;
  int each = (n + cluster.num_blocks() - 1) / cluster.num_blocks();
  for (int i = threadIdx.x; i < each; i += blockDim.x) {
    int at = cluster.block_rank() * each + i;
    if (at < n) own += x[(blockIdx.x / cluster.num_blocks()) * n + at];
  }
  atomicAdd(cluster.map_shared_rank(&sum, 0), own);
  cluster.barrier_arrive();
  cluster.barrier_wait();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) o[blockIdx.x / cluster.num_blocks()] = sum;
}
"""
)
# By PTX: 32-bit addresses of shared memory, barriers in halves, the cluster's registers.
BY_PTX = """
__global__ void by_ptx(int* o) {
  __shared__ int s[32];
  unsigned rank, blocks, id, ids, there;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(id));
  asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(ids));
  unsigned here = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]);
  s[threadIdx.x] = -1;
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"((rank + 1) % blocks));
  asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(there), "r"(rank * 1000 + id * 100 + ids * 10000 + threadIdx.x)
               : "memory");
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  o[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}
"""
# All threads of all blocks arrive at the first block's barrier, in every round; it waits for each round.
ARRIVE = r"""
__global__ void arrive(int* counts, int rounds) {
  __shared__ unsigned long long barrier;
  __shared__ int came;
  unsigned rank, blocks, first, sum;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  unsigned here = (unsigned)__cvta_generic_to_shared(&barrier), counter = (unsigned)__cvta_generic_to_shared(&came);
  if (threadIdx.x == 0) {
    came = 0;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(here), "r"(blocks * blockDim.x) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
  for (int round = 0; round < rounds; round++) {
    for (unsigned to = 0; to < blocks; to++) {
      asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(first) : "r"(here), "r"(to));
      asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(sum) : "r"(counter), "r"(to));
      asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" :: "r"(sum) : "memory");
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(first) : "memory");
    }
    unsigned done = 0;
    while (!done)
      asm volatile("{ .reg .pred p;\n\t"
                   "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
                   "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(here), "r"(round & 1) : "memory");
    int all = (round + 1) * int(blocks * blockDim.x);
    if (threadIdx.x == 0) counts[blockIdx.x * rounds + round] = *(volatile int*)&came >= all;
  }
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
"""
BEYOND = (
    HEAD
    + """
__global__ void beyond(float* o) {
  __shared__ float s[32];
  auto cluster = cg::this_cluster();
  cluster.sync();
  o[threadIdx.x] = cluster.map_shared_rank(s, 5)[threadIdx.x];
}
"""
)
NEVER = (
    HEAD
    + """
__global__ void never(float* o) {
  auto cluster = cg::this_cluster();
  cluster.sync();
  while (cluster.block_rank() && *(volatile float*)o == 0) {}
  cluster.sync();
}
"""
)


def launched(source, symbol, cluster, **options):
    text = source.replace("CLUSTER", str(cluster))
    return tle_raw.fragment(text, dialect="cuda", symbol=symbol).as_kernel(cluster=cluster, **options)


def swapped(cluster):
    """Two clusters' values, and those of the next block of each."""
    x = np.random.default_rng(0).standard_normal((2 * cluster, 64)).astype(np.float32)
    return x, x[[first + (rank + 1) % cluster for first in (0, cluster) for rank in range(cluster)]]


def summed(n):
    x = np.random.default_rng(1).standard_normal((3, n)).astype(np.float32)
    return x, x.astype(np.float64).sum(1)


def numbered():
    """What ``by_ptx`` writes in three clusters of two blocks."""
    ranks, clusters = np.arange(6)[:, None] % 2, np.arange(6)[:, None] // 2
    return (1 - ranks) * 1000 + clusters * 100 + 3 * 10000 + np.arange(32)


def rotated(n):
    x = np.random.default_rng(2).standard_normal((8, n)).astype(np.float32)
    return x, x[[first + (rank + 3) % 4 for first in (0, 4) for rank in range(4)]] * 2


MESH = tl.constexpr(tle.device_mesh({"block_cluster": 4}))


@tle_raw.dialect(
    "cuda",
    source=HEAD
    + """
__device__ void rotate(float* t, int by) {
  __shared__ float s[TLE_N];
  auto cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < TLE_N; i += blockDim.x) s[i] = t[i];
  cluster.sync();
  const float* there = cluster.map_shared_rank(s, (cluster.block_rank() + by) % cluster.num_blocks());
  for (int i = threadIdx.x; i < TLE_N; i += blockDim.x) t[i] = there[i];
  cluster.sync();
}
""",
)
def rotate(t: InOut[Tile["f32", "N"]], by: Scalar["i32"]): ...


@triton.jit
def rotate_twice(x, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    pid = tl.program_id(0)
    tile = tl.load(x + pid * n + i, mask=i < n, other=0.0)
    tile = rotate(tile, 1)
    tle.distributed_barrier(MESH)
    tile = rotate(tile * 2, tle.shard_id(MESH, "block_cluster") * 0 + 2)
    tl.store(o + pid * n + i, tile, mask=i < n)
