// tle::tile: a block tensor with a static shape, as a fragment of tle_raw sees it.
//
// A tile is a pointer with its shape in the type: row-major, contiguous, 16-byte aligned. It is cheap to copy; copies
// show the same elements. It converts to its element pointer, so a function that takes `float*` takes a tile as well.
//
//     #include <tle_raw/tile.h>
//     template <int M, int N>
//     __device__ void scale(tle::tile<float, M, N> t, const float* s, int n) {
//       for (int i : t.indices()) t[i] = t[i] * s[i % N] + n;      // each thread of the block takes its share
//       __syncthreads();
//       if (t.thread() == 0) t(0, 0) = 1.0f;                       // row 0, column 0
//     }
//
// The header needs no other header. It compiles as CUDA with clang, nvcc and NVRTC, and as plain C++17, where a
// "block" is one thread. Two macros may be set before it is included:
//   TLE_RAW_FLAT_BLOCK    the block has one dim: threadIdx.y and .z are not read (tle_raw sets it: so are Triton's)
//   TLE_RAW_THREAD_INDEX, TLE_RAW_THREAD_COUNT    expressions to use on the host instead of 0 and 1
//   TLE_RAW_CHECK_TILES   every index is checked (tle_raw sets it on the CPU when knobs.debug is on)
#ifndef TLE_RAW_TILE_H
#define TLE_RAW_TILE_H

#if defined(__CUDA__) && defined(__clang__)
#define TLE_RAW_FUNCTION __attribute__((host)) __attribute__((device)) __attribute__((always_inline)) inline
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define TLE_RAW_FUNCTION __host__ __device__ __forceinline__
#else
#define TLE_RAW_FUNCTION inline
#endif

#ifdef TLE_RAW_CHECK_TILES
// Stops the block when the index is not below `size`; `dim` is -1 for an index that counts through the whole tile.
extern "C" __attribute__((device)) __attribute__((nomerge)) void tle_team_check_index(long long index, long long size, int dim);
#endif

namespace tle {

namespace detail {

#ifdef TLE_RAW_CHECK_TILES
#define TLE_RAW_UNCHECKED
TLE_RAW_FUNCTION void check_index(long long index, long long size, int dim) {
#ifdef __CUDA_ARCH__
  tle_team_check_index(index, size, dim);
#endif
}
#else
#define TLE_RAW_UNCHECKED constexpr
#endif

// Linear index of the calling thread in its block, and the number of threads of the block.
#if defined(__CUDA_ARCH__) && defined(__clang__)
TLE_RAW_FUNCTION int thread_index() {
#ifdef TLE_RAW_FLAT_BLOCK
  return __nvvm_read_ptx_sreg_tid_x();
#else
  return __nvvm_read_ptx_sreg_tid_x() +
         __nvvm_read_ptx_sreg_ntid_x() *
             (__nvvm_read_ptx_sreg_tid_y() + __nvvm_read_ptx_sreg_ntid_y() * __nvvm_read_ptx_sreg_tid_z());
#endif
}
TLE_RAW_FUNCTION int thread_count() {
#ifdef TLE_RAW_FLAT_BLOCK
  return __nvvm_read_ptx_sreg_ntid_x();
#else
  return __nvvm_read_ptx_sreg_ntid_x() * __nvvm_read_ptx_sreg_ntid_y() * __nvvm_read_ptx_sreg_ntid_z();
#endif
}
#elif defined(__CUDA_ARCH__)
TLE_RAW_FUNCTION int thread_index() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
TLE_RAW_FUNCTION int thread_count() { return blockDim.x * blockDim.y * blockDim.z; }
#elif defined(TLE_RAW_THREAD_INDEX) && defined(TLE_RAW_THREAD_COUNT)
TLE_RAW_FUNCTION int thread_index() { return TLE_RAW_THREAD_INDEX; }
TLE_RAW_FUNCTION int thread_count() { return TLE_RAW_THREAD_COUNT; }
#else
TLE_RAW_FUNCTION int thread_index() { return 0; }
TLE_RAW_FUNCTION int thread_count() { return 1; }
#endif

// The few type traits that are needed; <type_traits> is not there under NVRTC.
template <bool Condition> struct require {};
template <> struct require<true> { using type = int; };
template <class A, class B> struct same { static constexpr bool value = false; };
template <class A> struct same<A, A> { static constexpr bool value = true; };
template <class T> struct plain { using type = T; static constexpr bool is_const = false; };
template <class T> struct plain<const T> { using type = T; static constexpr bool is_const = true; };
template <bool Const, class T> struct const_if { using type = T; };
template <class T> struct const_if<true, T> { using type = const T; };

template <int... Dims> struct product;
template <> struct product<> { static constexpr int value = 1; };
template <int First, int... Rest> struct product<First, Rest...> {
  static constexpr int value = First * product<Rest...>::value;
};
template <int I, int First, int... Rest> struct select_dim {
  static constexpr int value = select_dim<I - 1, Rest...>::value;
};
template <int First, int... Rest> struct select_dim<0, First, Rest...> {
  static constexpr int value = First;
};
template <int I, int First, int... Rest> struct stride_of {
  static constexpr int value = stride_of<I - 1, Rest...>::value;
};
template <int First, int... Rest> struct stride_of<0, First, Rest...> {
  static constexpr int value = product<Rest...>::value;
};

}  // namespace detail

// The indices first, first + step, ... below `last`, for a range-based for.
struct index_range {
  struct iterator {
    int index, step;
    TLE_RAW_FUNCTION constexpr int operator*() const { return index; }
    TLE_RAW_FUNCTION constexpr iterator& operator++() { return index += step, *this; }
    // "<" and not "!=": the last step may pass the end
    TLE_RAW_FUNCTION constexpr bool operator!=(const iterator& end) const { return index < end.index; }
  };
  int first, last, step;
  TLE_RAW_FUNCTION constexpr iterator begin() const { return {first, step}; }
  TLE_RAW_FUNCTION constexpr iterator end() const { return {last, step}; }
};

template <class T, int... Dims> struct tile {
  static_assert(sizeof...(Dims) >= 1, "a tile has at least one dim");
  static_assert(((Dims > 0) && ...), "every dim of a tile is positive");

  using element = T;
  using value_type = typename detail::plain<T>::type;

  TLE_RAW_FUNCTION constexpr explicit tile(T* data) : data_(data) {}
  // tile<float, 4> converts to tile<const float, 4>
  template <class U, typename detail::require<detail::same<const U, T>::value && !detail::same<U, T>::value>::type = 0>
  TLE_RAW_FUNCTION constexpr tile(const tile<U, Dims...>& other) : data_(other.data()) {}

  // Shape. All of it is known at compile time; strides count elements.
  static TLE_RAW_FUNCTION constexpr int size() { return detail::product<Dims...>::value; }
  static TLE_RAW_FUNCTION constexpr int rank() { return sizeof...(Dims); }
  template <int I> static TLE_RAW_FUNCTION constexpr int dim() {
    static_assert(I >= 0 && I < int(sizeof...(Dims)), "this tile has no such dim");
    return detail::select_dim<I, Dims...>::value;
  }
  template <int I> static TLE_RAW_FUNCTION constexpr int stride() {
    static_assert(I >= 0 && I < int(sizeof...(Dims)), "this tile has no such dim");
    return detail::stride_of<I, Dims...>::value;
  }
  static TLE_RAW_FUNCTION constexpr int dim(int i) {
    const int dims[] = {Dims...};
    return dims[i];
  }
  static TLE_RAW_FUNCTION constexpr int stride(int i) {
    const int dims[] = {Dims...};
    int product = 1;
    for (int k = rank() - 1; k > i; --k) product *= dims[k];
    return product;
  }

  // Elements. t[i] counts through the whole tile; t(i, j) takes one index a dim. Neither checks its range, but under
  // TLE_RAW_CHECK_TILES; then both are no constant expressions.
  TLE_RAW_FUNCTION constexpr T* data() const { return data_; }
  TLE_RAW_FUNCTION constexpr operator T*() const { return data_; }
  template <class Index>
  TLE_RAW_FUNCTION TLE_RAW_UNCHECKED auto operator[](Index i) const -> decltype(*((T*)nullptr + i)) {
#ifdef TLE_RAW_CHECK_TILES
    detail::check_index((long long)i, size(), -1);
#endif
    return data_[i];
  }
  template <class... Index> static TLE_RAW_FUNCTION constexpr int offset(Index... index) {
    static_assert(sizeof...(Index) == sizeof...(Dims), "a tile is indexed with one index a dim, or with t[linear]");
    const int dims[] = {Dims...}, at[] = {int(index)...};
    int linear = 0;
    for (int k = 0; k < rank(); ++k) linear = linear * dims[k] + at[k];
    return linear;
  }
  template <class... Index> TLE_RAW_FUNCTION TLE_RAW_UNCHECKED T& operator()(Index... index) const {
#ifdef TLE_RAW_CHECK_TILES
    const int dims[] = {Dims...};
    const long long at[] = {(long long)(index)...};
    for (int k = 0; k < rank(); ++k) detail::check_index(at[k], dims[k], k);
#endif
    return data_[offset(index...)];
  }
  TLE_RAW_FUNCTION constexpr T* begin() const { return data_; }
  TLE_RAW_FUNCTION constexpr T* end() const { return data_ + size(); }

  // Sharing the work. Every thread of the block asks, and each gets its own part: thread k takes k, k + threads, ...
  static TLE_RAW_FUNCTION int thread() { return detail::thread_index(); }
  static TLE_RAW_FUNCTION int threads() { return detail::thread_count(); }
  static TLE_RAW_FUNCTION index_range indices() { return {detail::thread_index(), size(), detail::thread_count()}; }
  // f(element) for each element of the calling thread
  template <class Function> TLE_RAW_FUNCTION void for_each(Function f) const {
    for (int i : indices()) f(data_[i]);
  }
  // for (auto i : t.vectors<4>()) { t[i] ... t[i + 3] }: runs of `Count` neighbours, for 16-byte accesses
  template <int Count> static TLE_RAW_FUNCTION index_range vectors() {
    static_assert(size() % Count == 0, "the run does not divide the tile's size");
    return {detail::thread_index() * Count, size(), detail::thread_count() * Count};
  }

  // Other views of the same memory. as<float4>() is a tile of rank 1.
  template <class U> TLE_RAW_FUNCTION auto as() const {
    static_assert(size() * sizeof(T) % sizeof(U) == 0, "the new element does not divide the tile's bytes");
    using E = typename detail::const_if<detail::plain<T>::is_const, U>::type;
    return tile<E, int(size() * sizeof(T) / sizeof(U))>(reinterpret_cast<E*>(data_));
  }
  template <int... NewDims> TLE_RAW_FUNCTION constexpr auto reshape() const {
    static_assert(detail::product<NewDims...>::value == size(), "the new shape has another number of elements");
    return tile<T, NewDims...>(data_);
  }
  TLE_RAW_FUNCTION constexpr tile<const value_type, Dims...> as_const() const {
    return tile<const value_type, Dims...>(data_);
  }

 private:
  T* data_;
};

}  // namespace tle

#endif  // TLE_RAW_TILE_H
