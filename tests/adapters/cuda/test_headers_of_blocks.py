"""What CUB's headers for blocks take in of other libraries is left out where no text names it; the code is the same."""

from __future__ import annotations

import re

import pytest

import tle_raw
from tle_raw import Element
from tle_raw.adapters.cpp.lean_headers import OF_BLOCKS, lean_defines

pytestmark = pytest.mark.one_triton

CUB = ("cub/block/block_reduce.cuh", "tle_raw/tile.h")
OPERATORS = """
struct Larger { template <class T> __device__ T operator()(const T& a, const T& b) const { return b < a ? a : b; } };
struct Before { template <class T> __device__ bool operator()(const T& a, const T& b) const { return a < b; } };
struct Pair { float x; int i; };
__device__ bool operator<(const Pair& a, const Pair& b) { return a.x < b.x; }
template <class T> __device__ typename T::TempStorage& room() { __shared__ typename T::TempStorage own; return own; }
"""
# What a program says of blocks, warps and threads, by the headers that it includes: each calls one `used` for an int.
PROGRAMS = {
    "reductions": (("block/block_reduce", "warp/warp_reduce", "thread/thread_reduce"), """
        template <class T, cub::BlockReduceAlgorithm A> __device__ int reduced(T x) {
          using Reduce = cub::BlockReduce<T, 128, A>;
          T items[4] = {x, x, x, x};
          return *(int*)&(x = Reduce(room<Reduce>()).Reduce(items, Larger{}));
        }
        __device__ int used(int x) {
          using Sum = cub::BlockReduce<float, 128>;
          using Warp = cub::WarpReduce<double, 16>;
          int items[8] = {x, 2, x, 3};
          x += reduced<Pair, cub::BLOCK_REDUCE_RAKING>({float(x), x}) + cub::ThreadReduce(items, Larger{});
          x += reduced<int, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(x);
          x += reduced<long long, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(x);
          return x + Sum(room<Sum>()).Sum(x) + Warp(room<Warp>()).Sum(x);
        }"""),
    "operators": (("block/block_reduce", "block/block_scan", "thread/thread_reduce"), """
        #include <cuda/functional>
        #include <cuda/std/functional>
        template <class T, class Operator> __device__ T reduced(T x, Operator make) {
          using Reduce = cub::BlockReduce<T, 128>;
          using Scan = cub::BlockScan<T, 128>;
          T items[4] = {x, T(1), x, T(cuda::std::numeric_limits<T>::max())};
          Scan(room<Scan>()).InclusiveScan(items, items, make);
          return Reduce(room<Reduce>()).Reduce(items, make) + cub::ThreadReduce(items, make);
        }
        __device__ int used(int x) {
          x += reduced(x, cuda::maximum<>{}) + reduced(x, cuda::std::bit_xor<>{}) + reduced(x, cuda::std::plus<int>{});
          return x + reduced(short(x), cuda::minimum<>{}) + reduced(float(x), cuda::std::multiplies<>{});
        }"""),
    "scans": (("block/block_scan", "warp/warp_scan", "thread/thread_scan"), """
        template <class T, cub::BlockScanAlgorithm A> __device__ int scanned(T x) {
          using Scan = cub::BlockScan<T, 128, A>;
          T items[2] = {x, x}, all;
          Scan(room<Scan>()).ExclusiveScan(items, items, x, Larger{}, all);
          return items[1] < all;
        }
        __device__ int used(int x) {
          using Warp = cub::WarpScan<float>;
          float y = x;
          Warp(room<Warp>()).InclusiveSum(y, y);
          return y + scanned<int, cub::BLOCK_SCAN_RAKING>(x) + scanned<double, cub::BLOCK_SCAN_WARP_SCANS>(x) +
                 scanned<Pair, cub::BLOCK_SCAN_RAKING_MEMOIZE>({float(x), x});
        }"""),
    "sorts": (("block/block_radix_sort", "block/block_merge_sort", "warp/warp_merge_sort", "thread/thread_search"), """
        __device__ int used(int x) {
          using Radix = cub::BlockRadixSort<float, 128, 2, int>;
          using Merge = cub::BlockMergeSort<Pair, 128, 2>;
          using Warp = cub::WarpMergeSort<short, 2, 32>;
          float keys[2] = {float(x), 3.f};
          int values[2] = {x, 4};
          Pair pairs[2] = {{2.f, x}, {float(x), 1}};
          short own[2] = {short(x), 7};
          Radix(room<Radix>()).SortDescending(keys, values);
          Merge(room<Merge>()).Sort(pairs, Before{});
          Warp(room<Warp>()).Sort(own, Before{});
          return keys[0] + values[1] + pairs[1].i + own[1] + cub::UpperBound(values, 2, x);
        }"""),
    "data": (("block/block_load", "block/block_store", "block/block_exchange", "warp/warp_exchange",
              "thread/thread_load", "thread/thread_store"), """
        __device__ int memory[2048];
        __device__ int used(int x) {
          using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
          using Vector = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_VECTORIZE>;
          using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
          using Exchange = cub::BlockExchange<int, 128, 4>;
          using Warp = cub::WarpExchange<int, 4>;
          int items[4], more[4];
          Load(room<Load>()).Load(memory, items, x, -1);
          Vector(room<Vector>()).Load(memory + 512, more);
          Exchange(room<Exchange>()).StripedToBlocked(items, items);
          Warp(room<Warp>()).BlockedToStriped(more, more);
          Store(room<Store>()).Store(memory + 1024, items, x);
          cub::ThreadStore<cub::STORE_CS>(memory + x, more[0]);
          return cub::ThreadLoad<cub::LOAD_CG>(memory + x) + more[1];
        }"""),
    "neighbours": (("block/block_adjacent_difference", "block/block_discontinuity", "block/block_histogram",
                    "block/block_radix_rank", "block/block_run_length_decode", "block/block_shuffle"), """
        __device__ int used(int x) {
          using Shuffle = cub::BlockShuffle<int, 128>;
          using Heads = cub::BlockDiscontinuity<int, 128>;
          using Difference = cub::BlockAdjacentDifference<int, 128>;
          using Histogram = cub::BlockHistogram<unsigned char, 128, 2, 16, cub::BLOCK_HISTO_ATOMIC>;
          using Rank = cub::BlockRadixRank<128, 4, false>;
          __shared__ int counts[16];
          int items[2] = {x, 5}, flags[2], shifted;
          unsigned char bins[2] = {(unsigned char)(x & 15), 1};
          unsigned keys[1] = {unsigned(x)};
          int ranks[1];
          Shuffle(room<Shuffle>()).Offset(x, shifted, 1);
          Heads(room<Heads>()).FlagHeads(flags, items, Before{});
          Difference(room<Difference>()).SubtractLeft(items, items, Larger{});
          Histogram(room<Histogram>()).Histogram(bins, counts);
          Rank(room<Rank>()).RankKeys(keys, ranks, cub::BFEDigitExtractor<unsigned>(4, 4));
          return shifted + flags[1] + items[1] + counts[x & 15] + ranks[0];
        }"""),
}  # fmt: skip


def code_of(headers, text):
    includes = "".join(f"#include <cub/{header}.cuh>\n" for header in headers)

    @tle_raw.dialect("cuda", source=includes + OPERATORS + text, symbol="used", block=128)
    def used(x: Element["i32"]) -> Element["i32"]: ...

    lines = [line for line in used.compile("cuda:90").text.splitlines() if not line.startswith("!")]
    return re.sub(r"_[0-9a-f]{16}\b|![\w.]+ ?", "", "\n".join(lines))  # digests of the text, and its places


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_code_is_that_of_all_headers(name):
    headers, text = PROGRAMS[name]
    assert OF_BLOCKS in lean_defines([OPERATORS + text], [f"cub/{header}.cuh" for header in headers], (3, 0, 1))
    code = code_of(headers, text)
    assert "define" in code and code == code_of(headers, text + "  // ::cuda::std:: is named, and all is read")


@pytest.mark.parametrize("text", [
    "cuda::ilog2(x)", "::cuda :: std::span<int>", "thrust::discard_iterator<>", "using namespace cuda;",
    "std::max(1, 2)", "namespace libcudacxx = ::cuda::std;", "namespace own = cuda;",
    "cuda::std::plus_or<>", "cuda::std::less<>{}; cuda::std::sqrt(x)", "using cuda::std::max;",
    "auto [a, b] = make_float2(1, 2);", "const auto& [a, b] = pair;", "#ifdef _LIBCUDACXX_SPAN",
])  # fmt: skip
def test_what_names_the_libraries_reads_all_of_them(text):
    assert OF_BLOCKS not in lean_defines([text], CUB, (3, 0, 1))


def test_other_programs_and_other_releases_read_all_of_them():
    plain = "// cuda, std and thrust are words\nauto x = y[1]; // __CUDA_ARCH__"
    assert OF_BLOCKS in lean_defines([plain, "-std=c++20"], CUB, (3, 0, 1))
    operators = ["cuda::maximum<>{}, ::cuda::std::plus<float>()"]
    assert OF_BLOCKS in lean_defines(operators, (*CUB, "cuda/functional", "cuda/std/functional"), (3, 0, 1))
    assert OF_BLOCKS not in lean_defines([plain], CUB, (3, 1, 0))
    assert OF_BLOCKS not in lean_defines([plain], CUB, (2, 8, 2))
    assert OF_BLOCKS not in lean_defines([plain], CUB, ())
    assert OF_BLOCKS not in lean_defines([plain], (*CUB, "cub/device/device_reduce.cuh"), (3, 0, 1))
    assert OF_BLOCKS not in lean_defines([plain], (*CUB, "cuda/std/functional_more"), (3, 0, 1))
    assert OF_BLOCKS not in lean_defines([plain], (*CUB, "cuda/std/tuple"), (3, 0, 1))


# A use of each header that is left out, of those that CUB's header for a block's reduction takes in itself.
USES = """
namespace own = COMMENT::cuda;
namespace inner = own::std;
__device__ int add(int a, int b) { return a + b; }
__device__ int used(int x) {
  int items[4] = {x, 1, 2, 3};
  inner::span<int, 4> row(items);
  inner::mdspan<int, inner::extents<int, 2, 2>> square(items);
  using Discarded = inner::iterator_traits<thrustCOMMENT::discard_iterator<>>::difference_type;
  float2 two = make_float2(x, 1);
  x += row[1] + square(1, 0) + own::ilog2(x) + int(inner::sqrt(float(x))) + sizeof(Discarded);
  x += inner::bind_front(add, x)(3) + inner::not_fn(add)(x, 2) + inner::cmp_less(x, 4u) + int(inner::get<0>(two));
  x += own::proclaims_copyable_arguments<inner::plus<int>>::value;
  if (x > 5) own::ptx::fence_mbarrier_init(own::ptx::sem_release, own::ptx::scope_cluster);
  using Sum = cub::BlockReduce<int, 128>;
  return Sum(room<Sum>()).Sum(x);
}
"""


@pytest.mark.parametrize("comment", ["", "/**/"], ids=["named", "not seen"])
def test_a_program_that_needs_what_is_left_out_has_it(comment):
    """Where the names are not seen in the text, clang misses them, and the text is compiled with all headers."""
    text = USES.replace("COMMENT", comment)
    assert (OF_BLOCKS in lean_defines([text], CUB, (3, 0, 1))) == bool(comment)
    assert "define" in code_of(("block/block_reduce",), text)
