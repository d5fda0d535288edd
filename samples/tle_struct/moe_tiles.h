// What the regions of samples 10 and 25 share: which pairs a tile has, the order of tiles, and copies of single runs.
#pragma once

// A block of pairs: the expert whose weights they are multiplied with, the first of them, and how many there are.
struct block_of_pairs { int expert, begin, count, unused; };

// Where the tiles of a program are, in the order of tle.gpu.grouped_tile.
struct places {
  const block_of_pairs* blocks;
  int count, columns, group;  // of blocks, of tiles beside each other, of blocks whose tiles are walked together
  __device__ int first(int tile) const { return tile / (group * columns) * group; }
  __device__ int height(int tile) const { return min(count - first(tile), group); }
  __device__ block_of_pairs block(int tile) const {
    return blocks[first(tile) + tile % (group * columns) % height(tile)];
  }
  __device__ int column(int tile) const { return tile % (group * columns) / height(tile); }
};

// Copies 16 bytes of x, or as many zeros.
template <class T> __device__ void copy_run(T* to, const T* from, bool is_inside) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::
               "r"(unsigned(__cvta_generic_to_shared(to))), "l"(__cvta_generic_to_global(from)),
               "r"(is_inside ? 16 : 0) : "memory");
}
