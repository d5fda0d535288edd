// Tokens in the order of their experts by clusters of blocks: the results of moe_align in 07_moe_align.py.
//
// Each cluster counts all pairs, each of its blocks some of them, and blocks store their counts in each other's shared
// memory. There are PARTS clusters, each of which places every PARTS-th pair. So pairs are all that is read from global
// memory, and once by each cluster.
//
// A cluster takes CLUSTER * THREADS * 4 * VECTORS pairs, whose beginning is a multiple of 16 bytes. PARTS divides
// 4 * VECTORS. EXPERTS is a power of two from 8 to 2 * THREADS.
// WATCHED: blocks meet at a barrier of the cluster in place of counting what was stored, which compute-sanitizer's
// racecheck does not follow.

// An address in this block's shared memory, and the same one in another block's of the cluster.
__device__ unsigned shared_address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }
__device__ unsigned address_in(int block, const void* p) {
  unsigned found;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(found) : "r"(shared_address(p)), "r"(block));
  return found;
}

// A barrier for one phase, complete when so many bytes have been stored by `store_in`.
__device__ void expect(unsigned long long* barrier, int bytes) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_address(barrier)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
template <bool WATCHED>
__device__ void store_in(int block, uint4* to, uint4 value, unsigned long long* barrier) {
  if (WATCHED)
    asm volatile("st.shared::cluster.v4.b32 [%0], {%1, %2, %3, %4};" :: "r"(address_in(block, to)), "r"(value.x),
                 "r"(value.y), "r"(value.z), "r"(value.w) : "memory");
  else
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::
                 "r"(address_in(block, to)), "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w),
                 "r"(address_in(block, barrier)) : "memory");
}
__device__ void wait(unsigned long long* barrier) {
  for (unsigned done = 0; !done;)
    asm volatile("{.reg .pred done; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%1], 0;"
                 " selp.u32 %0, 1, 0, done;}" : "=r"(done) : "r"(shared_address(barrier)) : "memory");
}

// Counts of experts are 16 bits each: as words, two at a time, and as vectors, eight.
template <int EXPERTS> union counts_of {
  unsigned words[EXPERTS / 2];
  unsigned short each[EXPERTS];
  uint4 vectors[EXPERTS / 8];
};

template <int EXPERTS, int SIZE, int CLUSTER, int PARTS, int THREADS, int VECTORS, bool CHAINED, bool WATCHED>
__global__ void align_in_clusters(const int* experts, int* sorted, int* block_experts, int* total, int n) {
  constexpr int OWN_PAIRS = 4 * VECTORS;                                  // of a thread
  constexpr int OWN_EXPERTS = EXPERTS > THREADS ? EXPERTS / THREADS : 1;  // whose places it computes
  constexpr int FILLED = (EXPERTS + CLUSTER * PARTS - 1) / (CLUSTER * PARTS);  // experts whose last block a block fills
  using counts = counts_of<EXPERTS>;
  __shared__ counts own[PARTS + 1], of_blocks[CLUSTER];  // the last one of `own`: of pairs that are not there
  __shared__ int of_warps[THREADS / 32], bases[EXPERTS], ends[EXPERTS];
  __shared__ unsigned long long arrived;
  const int t = threadIdx.x, rank = blockIdx.x % CLUSTER, part = blockIdx.x / CLUSTER;

  // What needs nothing of the launch before.
  if (CHAINED) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  for (int i = t; i < PARTS * EXPERTS / 2; i += THREADS) own[0].words[i] = 0;
  if (t == 0 && !WATCHED) expect(&arrived, sizeof of_blocks);
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  if (CHAINED) asm volatile("griddepcontrol.wait;" ::: "memory");

  // Count, and so give each pair a place among those of its part.
  int chosen[OWN_PAIRS], place[OWN_PAIRS];
  const int begin = (rank * VECTORS * THREADS + t) * 4;
  auto number = [&](int k) { return begin + k / 4 * THREADS * 4 + k % 4; };
#pragma unroll
  for (int v = 0; v < OWN_PAIRS; v += 4) {
    const int i = number(v);
    int4 four = {-1, -1, -1, -1};
    if (i + 3 < n) {
      four = *reinterpret_cast<const int4*>(experts + i);
    } else {
      if (i < n) four.x = experts[i];
      if (i + 1 < n) four.y = experts[i + 1];
      if (i + 2 < n) four.z = experts[i + 2];
    }
    chosen[v] = four.x, chosen[v + 1] = four.y, chosen[v + 2] = four.z, chosen[v + 3] = four.w;
  }
#pragma unroll
  for (int k = 0; k < OWN_PAIRS; ++k) {
    const unsigned at = chosen[k] < 0 ? PARTS * EXPERTS : k % PARTS * EXPERTS + chosen[k], shift = at % 2 * 16;
    place[k] = atomicAdd(&own[0].words[at / 2], 1u << shift) >> shift & 0xffff;
  }
  __syncthreads();

  // Each block tells each other one.
#pragma unroll
  for (int i = t; i < CLUSTER * EXPERTS / 8; i += THREADS) {
    const int to = i / (EXPERTS / 8), vector = i % (EXPERTS / 8);
    uint4 sum = own[0].vectors[vector];
#pragma unroll
    for (int p = 1; p < PARTS; ++p) {
      const uint4 more = own[p].vectors[vector];
      sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
    }
    store_in<WATCHED>(to, &of_blocks[rank].vectors[vector], sum, &arrived);
  }
  if (WATCHED)
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  else
    wait(&arrived);

  // Where the experts' pairs begin, and this part's of this block.
  int all[OWN_EXPERTS] = {}, before[OWN_EXPERTS] = {}, blocks = 0;
  if (t < EXPERTS) {
#pragma unroll
    for (int x = 0; x < OWN_EXPERTS; ++x) {
      const int e = t * OWN_EXPERTS + x;
#pragma unroll
      for (int r = 0; r < CLUSTER; ++r) {
        all[x] += of_blocks[r].each[e];
        before[x] += r < rank ? of_blocks[r].each[e] : 0;
      }
#pragma unroll
      for (int p = 0; p + 1 < PARTS; ++p) before[x] += p < part ? own[p].each[e] : 0;
      blocks += unsigned(all[x] + SIZE - 1) / SIZE;
    }
  }
  // The sum of the threads before, bit by bit: mostly no expert has more than one block, and one step will do.
  const int lane = t % 32;
  int first = 0, of_warp = 0, bit = 0;
  unsigned rest = blocks;
  do {
    const unsigned set = __ballot_sync(~0u, rest & 1);
    first += __popc(set & ((1u << lane) - 1)) << bit;
    of_warp += __popc(set) << bit;
    rest >>= 1, ++bit;
  } while (__any_sync(~0u, rest));
  if (lane == 0) of_warps[t / 32] = of_warp;
  __syncthreads();
  if (t < EXPERTS) {
#pragma unroll
    for (int w = 0; w < THREADS / 32; ++w) first += w < t / 32 ? of_warps[w] : 0;
#pragma unroll
    for (int x = 0; x < OWN_EXPERTS; ++x) {
      const int e = t * OWN_EXPERTS + x;
      bases[e] = first * SIZE + before[x];
      ends[e] = first * SIZE + all[x];
      first += unsigned(all[x] + SIZE - 1) / SIZE;
    }
    if (blockIdx.x == 0 && (t + 1) * OWN_EXPERTS == EXPERTS) *total = first * SIZE;
  }
  __syncthreads();

  // Place this part's pairs, and fill blocks up.
#pragma unroll
  for (int k = 0; k < OWN_PAIRS; k += PARTS) {
    int e = chosen[k], own_place = place[k], i = number(k);
#pragma unroll
    for (int p = 1; p < PARTS; ++p)
      if (part == p) e = chosen[k + p], own_place = place[k + p], i = number(k + p);
    const unsigned at = bases[e < 0 ? 0 : e] + own_place;
    if (e >= 0) sorted[at] = i;
    if (e >= 0 && at % SIZE == 0) block_experts[at / SIZE] = e;
  }
#pragma unroll
  for (int i = t; i < FILLED * SIZE; i += THREADS) {
    const int e = blockIdx.x * FILLED + i / SIZE;
    if (e >= EXPERTS) break;
    const unsigned end = ends[e], at = end + i % SIZE;
    if (at < (end + SIZE - 1) / SIZE * SIZE) sorted[at] = n;
  }
  asm volatile("exit;");  // Triton's barrier of the cluster behind it is for blocks that are still read: none is
}
