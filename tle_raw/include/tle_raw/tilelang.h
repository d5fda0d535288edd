// What stands between a Triton kernel and a device function that TileLang wrote. Clang only.
#ifndef TLE_RAW_TILELANG_H
#define TLE_RAW_TILELANG_H

#define TLE_RAW_INLINE static inline __attribute__((device)) __attribute__((always_inline))

namespace tle {
namespace tilelang {

// A scalar that crossed: a number converts, any other type of the same size takes its bits.
template <class T> struct scalar {
  T value;
  template <class U> __attribute__((device)) __attribute__((always_inline)) operator U() const {
    if constexpr (__is_arithmetic(U) && __is_arithmetic(T)) {
      static_assert(sizeof(U) == sizeof(T), "the scalar has another size in TileLang");
      return (U)value;
    } else {
      return __builtin_bit_cast(U, value);
    }
  }
};

// Global memory: whatever the function calls its elements.
struct memory {
  void* data;
  template <class U> __attribute__((device)) __attribute__((always_inline)) operator U*() const { return (U*)data; }
};

// Zeros in `Size` bytes of shared memory, which `Threads` threads write together.
template <unsigned Size, unsigned Threads> TLE_RAW_INLINE void clear(void* data, unsigned thread) {
  if constexpr (Size % 4 == 0) {
    for (unsigned i = thread; i < Size / 4; i += Threads) ((unsigned*)data)[i] = 0;
  } else {
    for (unsigned i = thread; i < Size; i += Threads) ((unsigned char*)data)[i] = 0;
  }
}

// Blocks are numbered row by row. They walk through panels of `Rows` rows each, column by column inside a panel, every
// second panel from right to left, so that neighbours in time are neighbours in memory.
template <unsigned Rows> TLE_RAW_INLINE dim3 row_panels(uint3 block, dim3 grid) {
  const unsigned number = block.y * grid.x + block.x, size = Rows * grid.x;
  const unsigned panel = number / size, inside = number % size, above = panel * Rows;
  const unsigned left = grid.y - above, height = left < Rows ? left : Rows;
  const unsigned column = inside / height;
  return dim3(panel % 2 ? grid.x - 1 - column : column, above + inside % height, block.z);
}

// The same with rows and columns exchanged.
template <unsigned Columns> TLE_RAW_INLINE dim3 column_panels(uint3 block, dim3 grid) {
  const unsigned number = block.y * grid.x + block.x, size = Columns * grid.y;
  const unsigned panel = number / size, inside = number % size, before = panel * Columns;
  const unsigned left = grid.x - before, width = left < Columns ? left : Columns;
  const unsigned row = inside / width;
  return dim3(before + inside % width, panel % 2 ? grid.y - 1 - row : row, block.z);
}

}  // namespace tilelang
}  // namespace tle

#undef TLE_RAW_INLINE
#endif  // TLE_RAW_TILELANG_H
