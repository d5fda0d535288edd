// tle::buffer: a shared buffer of the kernel, in place, however its elements lie.
//
// A parameter `Buffer["bf16", "M", "N", AnyLayout]` is a `tle::buffer<__nv_bfloat16, Layout, M, N>`: the compiler deduces
// its layout, so the function is a template that has it last.
//
//     #include <tle_raw/buffer.h>
//     template <int M, int N, class Layout>
//     __device__ void fill(tle::buffer<__nv_bfloat16, Layout, M, N> b, const __nv_bfloat16* x) {
//       for (int i : b.indices()) b[i] = x[i];                  // b[i] counts row by row, whatever the layout is
//       if (b.thread() == 0) b(0, 3) = x[0];
//     }
//
// Neighbours in a row stay neighbours within 16 bytes, in all layouts but `transposed` and `swizzled` of fewer bytes:
// `b.data(i, j)` may be read and written so many at a time, where they are aligned. A row-major buffer converts to
// `tle::tile`.
#ifndef TLE_RAW_BUFFER_H
#define TLE_RAW_BUFFER_H

#include <tle_raw/tile.h>

namespace tle {

// Layouts: where element (row, column) of `Rows` x `Columns` elements of `Bytes` lies, counted in elements. In a buffer of
// higher rank every `Matrix` rows are one matrix.
//
// Row after row.
struct row_major {
  template <int Rows, int Columns, int Bytes, int Matrix> static TLE_RAW_FUNCTION constexpr int place(int row, int column) {
    return row * Columns + column;
  }
};

// Column after column, whatever lies in a column.
template <class Layout> struct transposed {
  template <int Rows, int Columns, int Bytes, int Matrix> static TLE_RAW_FUNCTION constexpr int place(int row, int column) {
    return Layout::template place<Columns, Rows, Bytes, Columns>(column, row);
  }
};

// Runs of `Vector` elements, of which `PerPhase` rows share the order, and `MaxPhase` orders take turns: TritonGPU's
// swizzled_shared.
template <int Vector, int PerPhase, int MaxPhase> struct swizzled {
  template <int Rows, int Columns, int Bytes, int Matrix> static TLE_RAW_FUNCTION constexpr int place(int row, int column) {
    const int phase = row % Matrix / PerPhase % MaxPhase;
    return row * Columns + ((column / Vector) ^ phase) % (Columns / Vector) * Vector + column % Vector;
  }
};

// What TMA and tensor cores of sm_90 and later read: bands of columns that are `Swizzle` bytes wide, one behind the other,
// in each of which runs of 16 bytes change places. TritonGPU's nvmma_shared; 0 is one band without swizzling.
template <int Swizzle> struct nvmma {
  template <int Rows, int Columns, int Bytes, int Matrix> static TLE_RAW_FUNCTION constexpr int place(int row, int column) {
    if constexpr (Swizzle == 0) {
      return row * Columns + column;
    } else {
      constexpr int width = Swizzle / Bytes < Columns ? Swizzle / Bytes : Columns;
      constexpr int vector = 16 / Bytes, orders = Swizzle / 16, same = 128 / Swizzle;
      const int band = column / width, within = column % width;
      const int run = (within / vector) ^ (row / same % orders);
      return (band * Rows + row) * width + run * vector + within % vector;
    }
  }
};

template <class T, class Layout, int... Dims> struct buffer {
  static_assert(sizeof...(Dims) >= 1, "a buffer has at least one dim");
  using element = T;
  using layout = Layout;
  using shape = tile<T, Dims...>;  // of the same dims, for what does not depend on the layout

  TLE_RAW_FUNCTION constexpr explicit buffer(T* data) : data_(data) {}
  // buffer<float, L, 4> converts to buffer<const float, L, 4>
  template <class U, typename detail::require<detail::same<const U, T>::value && !detail::same<U, T>::value>::type = 0>
  TLE_RAW_FUNCTION constexpr buffer(const buffer<U, Layout, Dims...>& other) : data_(other.data()) {}

  static TLE_RAW_FUNCTION constexpr int size() { return shape::size(); }
  static TLE_RAW_FUNCTION constexpr int rank() { return shape::rank(); }
  template <int I> static TLE_RAW_FUNCTION constexpr int dim() { return shape::template dim<I>(); }

  // Where an element lies, in elements from the beginning. Leading dims count as rows.
  template <class... Index> static TLE_RAW_FUNCTION constexpr int offset(Index... index) {
    return place(shape::offset(index...));
  }
  template <class... Index> TLE_RAW_FUNCTION constexpr T* data(Index... index) const { return data_ + offset(index...); }
  TLE_RAW_FUNCTION constexpr T* data() const { return data_; }  // of the first element
  template <class... Index> TLE_RAW_FUNCTION T& operator()(Index... index) const {
#ifdef TLE_RAW_CHECK_TILES
    shape{data_}(index...);
#endif
    return data_[offset(index...)];
  }
  // b[i] counts row by row through the whole buffer.
  template <class Index> TLE_RAW_FUNCTION T& operator[](Index i) const {
#ifdef TLE_RAW_CHECK_TILES
    detail::check_index((long long)i, size(), -1);
#endif
    return data_[place(int(i))];
  }

  // Each thread of the block takes its share: see tle::tile.
  static TLE_RAW_FUNCTION int thread() { return detail::thread_index(); }
  static TLE_RAW_FUNCTION int threads() { return detail::thread_count(); }
  static TLE_RAW_FUNCTION index_range indices() { return shape::indices(); }
  template <int Count> static TLE_RAW_FUNCTION index_range vectors() { return shape::template vectors<Count>(); }

  TLE_RAW_FUNCTION constexpr auto as_const() const {
    return buffer<const typename detail::plain<T>::type, Layout, Dims...>(data_);
  }
  template <class L = Layout, typename detail::require<detail::same<L, row_major>::value>::type = 0>
  TLE_RAW_FUNCTION constexpr operator tile<T, Dims...>() const {
    return tile<T, Dims...>(data_);
  }

 private:
  static TLE_RAW_FUNCTION constexpr int place(int linear) {
    constexpr int columns = detail::select_dim<int(sizeof...(Dims)) - 1, Dims...>::value, rows = size() / columns;
    constexpr int before = sizeof...(Dims) > 2 ? int(sizeof...(Dims)) - 2 : 0;  // of a matrix: its rows
    constexpr int matrix = sizeof...(Dims) > 2 ? detail::select_dim<before, Dims...>::value : rows;
    return Layout::template place<rows, columns, int(sizeof(T)), matrix>(linear / columns, linear % columns);
  }
  T* data_;
};

}  // namespace tle

#endif  // TLE_RAW_BUFFER_H
