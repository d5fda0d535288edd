// Tokens in the order of their experts by clusters of blocks: the results of moe_align in 07_moe_align.py.
//
// Each cluster counts all pairs, each of its blocks some of them, and blocks store their counts in each other's shared
// memory. There are PARTS clusters, each of which places every PARTS-th pair. So pairs are all that is read from global
// memory, and once by each cluster.
//
// A cluster takes CLUSTER * THREADS * 4 * VECTORS pairs, whose beginning is a multiple of 16 bytes. PARTS is a power of
// two from 4 to 4 * THREADS, and EXPERTS one from 8 to 2 * THREADS.

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
__device__ void store_in(int block, uint4* to, uint4 value, unsigned long long* barrier) {
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

template <int EXPERTS, int SIZE, int CLUSTER, int PARTS, int THREADS, int VECTORS, bool CHAINED>
__global__ void align_in_clusters(const int* experts, int* sorted, int* block_experts, int* total, int n) {
  constexpr int WORDS = EXPERTS / 2, WARPS = (WORDS + 31) / 32;  // of the counts, and the warps that have one a thread
  constexpr int FILLED = (EXPERTS + CLUSTER * PARTS - 1) / (CLUSTER * PARTS);  // experts whose last block a block fills
  // Of this block's pairs: those of the parts before this cluster's, of its own, of those behind it; what is no pair.
  enum { BEFORE, OWN, BEHIND, NONE, ROWS };
  using counts = counts_of<EXPERTS>;
  __shared__ counts rows[ROWS], of_blocks[CLUSTER];
  __shared__ int of_warps[WARPS];
  __shared__ int2 bases[WORDS], ends[WORDS];
  __shared__ unsigned long long arrived;
  const int t = threadIdx.x, lane = t % 32, rank = blockIdx.x % CLUSTER, part = blockIdx.x / CLUSTER;

  // What needs nothing of the launch before.
  if (CHAINED) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#pragma unroll
  for (int i = t; i < NONE * WORDS; i += THREADS) rows[0].words[i] = 0;
  if (t == 0) expect(&arrived, sizeof of_blocks);
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  if (CHAINED) asm volatile("griddepcontrol.wait;" ::: "memory");

  // Count, and so give each pair a place among those of its part.
  int chosen[4 * VECTORS], place[4 * VECTORS];
  const int begin = (rank * VECTORS * THREADS + t) * 4;
  auto number = [&](int k) { return begin + k / 4 * THREADS * 4 + k % 4; };
#pragma unroll
  for (int v = 0; v < 4 * VECTORS; v += 4) {
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
  for (int k = 0; k < 4 * VECTORS; ++k) {
    const int of_pair = (t * 4 + k % 4) % PARTS;  // whose part it is
    const int row = of_pair < part ? BEFORE : of_pair == part ? OWN : BEHIND;
    const unsigned at = chosen[k] < 0 ? NONE * EXPERTS : row * EXPERTS + chosen[k], shift = at % 2 * 16;
    place[k] = atomicAdd(&rows[0].words[at / 2], 1u << shift) >> shift & 0xffff;
  }
  __syncthreads();

  // Each block tells each other one.
#pragma unroll
  for (int i = t; i < CLUSTER * EXPERTS / 8; i += THREADS) {
    const int to = i / (EXPERTS / 8), vector = i % (EXPERTS / 8);
    const uint4 a = rows[BEFORE].vectors[vector], b = rows[OWN].vectors[vector], c = rows[BEHIND].vectors[vector];
    const uint4 sum = {a.x + b.x + c.x, a.y + b.y + c.y, a.z + b.z + c.z, a.w + b.w + c.w};
    store_in(to, &of_blocks[rank].vectors[vector], sum, &arrived);
  }

  // Where the pairs of two experts begin, and those of this part and block among them.
  unsigned all = 0, before = t < WORDS ? rows[BEFORE].words[t] : 0;
  int blocks[2], first = 0, of_warp = 0;
  wait(&arrived);
  if (t < WARPS * 32) {
    if (t < WORDS) {
#pragma unroll
      for (int r = 0; r < CLUSTER; ++r) {
        const unsigned count = of_blocks[r].words[t];
        all += count;
        before += r < rank ? count : 0;
      }
    }
    blocks[0] = ((all & 0xffff) + SIZE - 1) / SIZE, blocks[1] = ((all >> 16) + SIZE - 1) / SIZE;
    // The sum over the threads before, bit by bit: mostly no expert has more than one block, and one step will do.
    unsigned rest[2] = {unsigned(blocks[0]), unsigned(blocks[1])}, earlier = (1u << lane) - 1;
    int bit = 0;
    do {
      const unsigned even = __ballot_sync(~0u, rest[0] & 1), odd = __ballot_sync(~0u, rest[1] & 1);
      first += (__popc(even & earlier) + __popc(odd & earlier)) << bit;
      of_warp += (__popc(even) + __popc(odd)) << bit;
      rest[0] >>= 1, rest[1] >>= 1, ++bit;
    } while (__any_sync(~0u, rest[0] | rest[1]));
    if (lane == 0) of_warps[t / 32] = of_warp;
  }
  if (WARPS > 1) __syncthreads();
  if (t < WORDS) {
#pragma unroll
    for (int w = 0; w + 1 < WARPS; ++w) first += w < t / 32 ? of_warps[w] : 0;
    const int second = (first + blocks[0]) * SIZE, behind = second + blocks[1] * SIZE;
    first *= SIZE;
    bases[t] = {first + int(before & 0xffff), second + int(before >> 16)};
    ends[t] = {first + int(all & 0xffff), second + int(all >> 16)};
    if (blockIdx.x == 0 && t == WORDS - 1) *total = behind;
  }
  __syncthreads();

  // Place this part's pairs, and fill blocks up.
  const int own = part % 4;
  if (t % (PARTS / 4) == part / 4) {
#pragma unroll
    for (int k = 0; k < 4 * VECTORS; k += 4) {
      const int e = own == 0 ? chosen[k] : own == 1 ? chosen[k + 1] : own == 2 ? chosen[k + 2] : chosen[k + 3];
      const int of_own = own == 0 ? place[k] : own == 1 ? place[k + 1] : own == 2 ? place[k + 2] : place[k + 3];
      if (e < 0) continue;
      const unsigned at = reinterpret_cast<const int*>(bases)[e] + of_own;
      sorted[at] = number(k) + own;
      if (at % SIZE == 0) block_experts[at / SIZE] = e;
    }
  }
#pragma unroll
  for (int i = t; i < FILLED * SIZE; i += THREADS) {
    const int e = blockIdx.x * FILLED + i / SIZE;
    if (e >= EXPERTS) break;
    const unsigned end = reinterpret_cast<const int*>(ends)[e], at = end + i % SIZE;
    if (at < (end + SIZE - 1) / SIZE * SIZE) sorted[at] = n;
  }
  asm volatile("exit;");  // Triton's barrier of the cluster behind it is for blocks that are still read: none is
}
