// tle::descriptor: a tensor descriptor of the kernel (tl.make_tensor_descriptor, or TensorDescriptor on the host), as a
// fragment of tle_raw sees it.
//
// A parameter `Descriptor["f16", "M", "N"]` is a `tle::descriptor<__half, M, N>`. The copy engine (TMA) copies blocks of
// M x N elements by it, between the array and a shared buffer of the kernel.
//
//     #include <tle_raw/barrier.h>
//     #include <tle_raw/descriptor.h>
//     template <int M, int N, class Layout>
//     __device__ void fetch(tle::descriptor<__half, M, N> from, int row, tle::buffer<__half, Layout, M, N> to,
//                           tle::barrier full) {
//       if (to.thread() == 0) {
//         full.expect(from.bytes());                             // one arrival, and so many bytes
//         from.load(to, full, row, 0);                           // brings them: the block that begins at (row, 0)
//       }
//     }
//
// Places count elements, the outermost axis first. Of a block that reaches beyond the array, what lies outside is filled
// (with zeros, or what the descriptor says), or is not written; its bytes count in full. Two things the
// copy engine ends the kernel for: a block that begins at no multiple of 16 bytes along the innermost axis, and a store
// that begins at a negative place. Each member acts for the calling thread: one thread copies a block.
//
// The buffer has the copy engine's layout, which is tle.gpu.alloc's own. What threads of the fragment wrote into it
// before a copy, they hand over by tle::barrier::fence() and a __syncthreads(); the kernel does both at its border.
#ifndef TLE_RAW_DESCRIPTOR_H
#define TLE_RAW_DESCRIPTOR_H

#include <tle_raw/barrier.h>
#include <tle_raw/buffer.h>

namespace tle {

namespace detail {
// Triton's rule: the widest swizzle, in bytes, that divides a row; none where there are fewer than eight rows.
constexpr int widest_swizzle(int rows, int row_bytes) {
  return rows < 8 ? 0 : row_bytes % 128 == 0 ? 128 : row_bytes % 64 == 0 ? 64 : row_bytes % 32 == 0 ? 32 : 0;
}
}  // namespace detail

template <class T, int... Dims> class descriptor {
  static_assert(sizeof...(Dims) >= 2 && sizeof...(Dims) <= 5, "the copy engine fills tiles of rank 2 to 5");

 public:
  using element = T;
  using shape = tile<T, Dims...>;

  TLE_RAW_DEVICE_FUNCTION explicit descriptor(const void* map) : map_(map) {}

  // Of a block: what a barrier has to expect for it.
  static TLE_RAW_FUNCTION constexpr int bytes() { return shape::size() * int(sizeof(T)); }

  // Begin a copy of the block at these places into a buffer; its bytes count at the barrier.
  template <class Layout, class... At>
  TLE_RAW_DEVICE_FUNCTION void load(const buffer<T, Layout, Dims...>& to, const barrier& full, At... at) const {
    check<Layout, At...>();
    const int places[] = {int(at)...};
    for_each_box([&](int column, int row, int offset) { load_box(to.data() + offset, full, places, column, row); });
  }

  // Begin a copy of a buffer to the block at these places, none of them negative; wait_for_stores() ends it.
  template <class U, class Layout, class... At>
  TLE_RAW_DEVICE_FUNCTION void store(const buffer<U, Layout, Dims...>& from, At... at) const {
    static_assert(detail::same<typename detail::plain<U>::type, T>::value, "the buffer has another dtype");
    check<Layout, At...>();
    const int places[] = {int(at)...};
    for_each_box([&](int column, int row, int offset) { store_box(from.data() + offset, places, column, row); });
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }

  // Until all copies to global memory that the calling thread began are done.
  static TLE_RAW_DEVICE_FUNCTION void wait_for_stores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

  // Where PTX's tensor map is.
  TLE_RAW_DEVICE_FUNCTION const void* map() const { return map_; }

 private:
  static constexpr int rank = int(sizeof...(Dims));
  static constexpr int columns = shape::template dim<rank - 1>(), rows = shape::size() / columns;
#if defined(TLE_RAW_TEAM)
  // One box is the block, and a buffer's rows lie behind each other.
  using layout = row_major;
  static constexpr int width = columns, height = shape::template dim<0>();
#else
  // A box is as wide as the swizzle, and at most 256 long: what lies side by side in bands is copied band by band.
  static constexpr int swizzle = detail::widest_swizzle(rows, columns * int(sizeof(T)));
  using layout = nvmma<swizzle>;
  static constexpr int width = swizzle && swizzle / int(sizeof(T)) < columns ? swizzle / int(sizeof(T)) : columns;
  static constexpr int height = shape::template dim<0>() < 256 ? shape::template dim<0>() : 256;
#endif

  template <class Layout, class... At> static TLE_RAW_DEVICE_FUNCTION constexpr void check() {
    static_assert(sizeof...(At) == sizeof...(Dims), "a block begins at one place for each axis");
    static_assert(detail::same<Layout, layout>::value,
                  "the buffer has not the layout of this descriptor's blocks: tle.gpu.alloc's own for the same dims");
    static_assert(detail::counts_bytes<detail::arch>::value, "copies by a descriptor need sm_90");
    static_assert(rank == 2 || height == shape::template dim<0>(), "of rank 3 and more an axis has at most 256 places");
    static_assert(width <= 256 || layout_is_row_major, "a box has at most 256 places along an axis");
  }
  static constexpr bool layout_is_row_major = detail::same<layout, row_major>::value;

  template <class Function> static TLE_RAW_DEVICE_FUNCTION void for_each_box(Function f) {
    for (int column = 0; column < columns; column += width)
      for (int row = 0; row < shape::template dim<0>(); row += height)
        f(column, row, column * rows + row * width);
  }

  // PTX counts the innermost axis first.
  TLE_RAW_DEVICE_FUNCTION void load_box(T* to, const barrier& full, const int* at, int column, int row) const {
    const unsigned target = shared_address(to);
    const unsigned long long map = reinterpret_cast<unsigned long long>(map_);
    const int x = at[rank - 1] + column;
#define TLE_RAW_LOAD(rank, places) \
  "cp.async.bulk.tensor." rank "d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, " places "], [%2];"
    if constexpr (rank == 2)
      asm volatile(TLE_RAW_LOAD("2", "{%3, %4}") ::"r"(target), "l"(map), "r"(full.address()), "r"(x),
                   "r"(at[0] + row) : "memory");
    else if constexpr (rank == 3)
      asm volatile(TLE_RAW_LOAD("3", "{%3, %4, %5}") ::"r"(target), "l"(map), "r"(full.address()), "r"(x),
                   "r"(at[1]), "r"(at[0]) : "memory");
    else if constexpr (rank == 4)
      asm volatile(TLE_RAW_LOAD("4", "{%3, %4, %5, %6}") ::"r"(target), "l"(map), "r"(full.address()), "r"(x),
                   "r"(at[2]), "r"(at[1]), "r"(at[0]) : "memory");
    else
      asm volatile(TLE_RAW_LOAD("5", "{%3, %4, %5, %6, %7}") ::"r"(target), "l"(map), "r"(full.address()), "r"(x),
                   "r"(at[3]), "r"(at[2]), "r"(at[1]), "r"(at[0]) : "memory");
#undef TLE_RAW_LOAD
  }

  TLE_RAW_DEVICE_FUNCTION void store_box(const T* from, const int* at, int column, int row) const {
    const unsigned source = shared_address(from);
    const unsigned long long map = reinterpret_cast<unsigned long long>(map_);
    const int x = at[rank - 1] + column;
#define TLE_RAW_STORE(rank, places) "cp.async.bulk.tensor." rank "d.global.shared::cta.bulk_group [%1, " places "], [%0];"
    if constexpr (rank == 2)
      asm volatile(TLE_RAW_STORE("2", "{%2, %3}") ::"r"(source), "l"(map), "r"(x), "r"(at[0] + row) : "memory");
    else if constexpr (rank == 3)
      asm volatile(TLE_RAW_STORE("3", "{%2, %3, %4}") ::"r"(source), "l"(map), "r"(x), "r"(at[1]), "r"(at[0]) : "memory");
    else if constexpr (rank == 4)
      asm volatile(TLE_RAW_STORE("4", "{%2, %3, %4, %5}") ::"r"(source), "l"(map), "r"(x), "r"(at[2]), "r"(at[1]),
                   "r"(at[0]) : "memory");
    else
      asm volatile(TLE_RAW_STORE("5", "{%2, %3, %4, %5, %6}") ::"r"(source), "l"(map), "r"(x), "r"(at[3]), "r"(at[2]),
                   "r"(at[1]), "r"(at[0]) : "memory");
#undef TLE_RAW_STORE
  }

  static TLE_RAW_DEVICE_FUNCTION unsigned shared_address(const void* pointer) { return barrier((void*)pointer).address(); }

  const void* map_;
};

}  // namespace tle

#endif  // TLE_RAW_DESCRIPTOR_H
