// A producer: it fetches rows of a table into a tile by itself, with instructions that Triton has no words for.
#include <cuda_fp16.h>
#include <tle_raw/tile.h>

// 16 bytes from global to shared memory, past the registers and L1; L2 fetches the whole 128-byte line.
// Of the 16 bytes `bytes` are read, the rest is zeros: with 0 nothing is read at all.
__device__ void copy_async(void* to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::
               "r"(unsigned(__cvta_generic_to_shared(to))), "l"(__cvta_generic_to_global(from)), "r"(bytes) : "memory");
}

// Waits for the calling thread's copies.
__device__ void wait_for_copies() {
  asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
}

// A read that does not push anything else out of L1: every row is wanted once.
__device__ unsigned short load_once(const void* from) {
  unsigned short bits;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.u16 %0, [%1];" : "=h"(bits) : "l"(__cvta_generic_to_global(from)));
  return bits;
}

// rows(i, j) = table[index[i]][first_column + j]. Rows from `count` on and columns from `columns` on are zeros.
template <int M, int N>
__device__ void gather_rows(const __half* table, const int* index, int count, int first_column, int columns,
                            tle::tile<__half, M, N> rows) {
  constexpr int RUN = 8;  // halves in 16 bytes
  static_assert(N % RUN == 0, "a row is made of 16-byte runs");
  const bool aligned = columns % RUN == 0 && size_t(table) % 16 == 0;

  for (int i : rows.template vectors<RUN>()) {
    const int row = i / N, column = first_column + i % N;
    const bool inside = row < count && column < columns;
    const __half* from = inside ? table + (long long)index[row] * columns + column : table;
    if (aligned) {
      copy_async(&rows[i], from, inside ? 16 : 0);
    } else {  // a table with an odd number of columns: 16 bytes cannot be copied at once
      unsigned short* to = (unsigned short*)&rows[i];
      for (int j = 0; j < RUN; ++j) to[j] = inside && column + j < columns ? load_once(from + j) : 0;
    }
  }
  wait_for_copies();  // the barrier after a region shows them to the other threads
}
