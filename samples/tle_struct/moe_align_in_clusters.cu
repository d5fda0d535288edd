// Tokens in the order of their experts by clusters of blocks: the results of moe_align in 07_moe_align.py.
//
// Each cluster counts all pairs, each of its blocks some of them, and blocks store their counts in each other's shared
// memory. There are PARTS clusters, each of which places the pairs of its own experts. So pairs are all that is read
// from global memory, and once by each cluster.
//
// A cluster takes CLUSTER * THREADS * 4 * VECTORS pairs, whose beginning is a multiple of 16 bytes. EXPERTS is a power
// of two from 8 to 2 * THREADS, a multiple of PARTS.
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
  uint4 vectors[EXPERTS / 8];
};

// How much the threads of the warp before this one have, and all of them. Bit by bit: numbers are small.
template <int BITS> __device__ int sum_before(unsigned number, int& of_warp) {
  const unsigned before = (1u << threadIdx.x % 32) - 1;
  int first = 0, bit = 0;
  of_warp = 0;
  do {
#pragma unroll
    for (int i = 0; i < BITS; ++i, ++bit, number >>= 1) {
      const unsigned set = __ballot_sync(~0u, number & 1);
      first += __popc(set & before) << bit;
      of_warp += __popc(set) << bit;
    }
  } while (__any_sync(~0u, number));
  return first;
}

template <int EXPERTS, int SIZE, int CLUSTER, int PARTS, int THREADS, int VECTORS, bool CHAINED, bool WATCHED>
__global__ void align_in_clusters(const int* experts, int* sorted, int* block_experts, int* total, int n) {
  constexpr int PAIRS = 4 * VECTORS;                     // of a thread
  constexpr int OWN = EXPERTS / PARTS;                   // experts of a part
  constexpr int FILLED = (OWN + CLUSTER - 1) / CLUSTER;  // experts whose last block a block fills
  using counts = counts_of<EXPERTS>;
  __shared__ counts own[2];  // the second one: of pairs that are not there
  __shared__ counts of_blocks[CLUSTER];
  __shared__ int of_warps[THREADS / 32];
  __shared__ __align__(16) int bases[OWN];
  __shared__ __align__(16) int ends[OWN];
  __shared__ unsigned long long arrived;
  const int t = threadIdx.x, lane = t % 32, rank = blockIdx.x % CLUSTER;
  const unsigned part = blockIdx.x / CLUSTER;

  // What needs nothing of the launch before.
  if (CHAINED) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  if (t < EXPERTS / 2) own[0].words[t] = 0;
  if (t == 0 && !WATCHED) expect(&arrived, sizeof of_blocks);
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  if (CHAINED) asm volatile("griddepcontrol.wait;" ::: "memory");

  // Count, and so give each pair a place among the block's of its expert.
  int chosen[PAIRS];
  unsigned place[PAIRS];
  const int begin = rank * VECTORS * THREADS * 4;
  auto number = [&](int k) { return (k / 4 * THREADS + t) * 4 + k % 4; };  // of the block's pairs
#pragma unroll
  for (int v = 0; v < PAIRS; v += 4) {
    const int i = begin + number(v);
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
  for (int k = 0; k < PAIRS; ++k) {
    const unsigned at = chosen[k] < 0 ? EXPERTS : chosen[k];
    const unsigned shift = at % 2 * 16;
    place[k] = atomicAdd(&own[0].words[at / 2], 1u << shift) >> shift & 0xffff;
  }
  __syncthreads();

  // Each block tells each other one.
#pragma unroll
  for (int i = t; i < CLUSTER * EXPERTS / 8; i += THREADS) {
    const int to = i / (EXPERTS / 8), vector = i % (EXPERTS / 8);
    store_in<WATCHED>(to, &of_blocks[rank].vectors[vector], own[0].vectors[vector], &arrived);
  }

  // The pairs of the part's experts, of which there are OWN: `of_part` is OWN for others.
  unsigned of_part[PAIRS];
#pragma unroll
  for (int k = 0; k < PAIRS; ++k) of_part[k] = min(unsigned(chosen[k] - part * OWN), unsigned(OWN));

  // Where the experts' pairs begin, and this block's of the part's experts.
  if (WATCHED) asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  if (!WATCHED) wait(&arrived);
  unsigned all = 0, before = 0;  // of two experts
  if (t < EXPERTS / 2) {
#pragma unroll
    for (int r = 0; r < CLUSTER; ++r) {
      const unsigned more = of_blocks[r].words[t];
      all += more;
      before += r < rank ? more : 0;
    }
  }
  const int of_expert_0 = all & 0xffff, of_expert_1 = all >> 16;
  const unsigned blocks_0 = unsigned(of_expert_0 + SIZE - 1) / SIZE, blocks_1 = unsigned(of_expert_1 + SIZE - 1) / SIZE;
  int of_warp, first = sum_before<2>(blocks_0 + blocks_1, of_warp);
  if (lane == 0) of_warps[t / 32] = of_warp;
  __syncthreads();
  if (t < EXPERTS / 2) {
#pragma unroll
    for (int w = 0; w < THREADS / 32; ++w) first += w < t / 32 ? of_warps[w] : 0;
    if (blockIdx.x == 0 && t + 1 == EXPERTS / 2) *total = (first + blocks_0 + blocks_1) * SIZE;
#pragma unroll
    for (int x = 0; x < 2; ++x) {
      const int e = 2 * t + x;
      if (e / OWN == part) {
        bases[e % OWN] = first * SIZE + (x ? before >> 16 : before & 0xffff);
        ends[e % OWN] = first * SIZE + (x ? of_expert_1 : of_expert_0);
      }
      first += blocks_0;
    }
  }
  __syncthreads();

  // Place the part's pairs, and fill blocks up. All is read before the first store: the compiler would otherwise read
  // where it stores, behind a branch each.
  auto now = [](unsigned& read) { asm volatile("" : "+r"(read)); };
  constexpr int FILLS = (FILLED * SIZE + THREADS - 1) / THREADS;  // of a thread
  unsigned behind[FILLS];
#pragma unroll
  for (int k = 0; k < FILLS; ++k) {
    const int e = rank * FILLED + (k * THREADS + t) / SIZE;
    behind[k] = ends[e < OWN ? e : 0];
  }
#pragma unroll
  for (int k = 0; k < PAIRS; ++k) place[k] += bases[min(of_part[k], OWN - 1u)];
#pragma unroll
  for (int k = 0; k < PAIRS; ++k) now(place[k]);
#pragma unroll
  for (int k = 0; k < FILLS; ++k) now(behind[k]);
#pragma unroll
  for (int k = 0; k < PAIRS; ++k) {
    if (of_part[k] < OWN) sorted[place[k]] = begin + number(k);
    if (of_part[k] < OWN && place[k] % SIZE == 0) block_experts[place[k] / SIZE] = chosen[k];
  }
#pragma unroll
  for (int k = 0; k < FILLS; ++k) {
    const int i = k * THREADS + t;
    const unsigned at = behind[k] + i % SIZE, end = (behind[k] + SIZE - 1) / SIZE * SIZE;
    if (i < FILLED * SIZE && rank * FILLED + i / SIZE < OWN && at < end) sorted[at] = n;
  }
  asm volatile("exit;");  // Triton's barrier of the cluster behind it is for blocks that are still read: none is
}
