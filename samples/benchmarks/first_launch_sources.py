"""CUDA files of the usual forms, whose compilation `first_launch.py` times: CUB, torch's headers, host code, groups."""

SUM = r"""
#include <cub/block/block_reduce.cuh>
#include <tle_raw/tile.h>
template <int N> __device__ void block_sum(tle::tile<const float, N> x, tle::tile<float, 1> sum) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  float own = 0;
  for (int i = threadIdx.x; i < N; i += 128) own += x[i];
  own = Reduce(storage).Sum(own);
  if (threadIdx.x == 0) sum[0] = own;
}
"""
SORT = r"""
#include <cub/block/block_radix_sort.cuh>
#include <tle_raw/tile.h>
template <int N> __device__ void block_argsort(tle::tile<const float, N> x, tle::tile<int, N> order) {
  constexpr int ITEMS = N / 128;
  using Sort = cub::BlockRadixSort<float, 128, ITEMS, int>;
  __shared__ typename Sort::TempStorage storage;
  float key[ITEMS];
  int index[ITEMS];
  for (int item = 0; item < ITEMS; ++item) key[item] = x[index[item] = threadIdx.x * ITEMS + item];
  Sort(storage).Sort(key, index);
  for (int item = 0; item < ITEMS; ++item) order[threadIdx.x * ITEMS + item] = index[item];
}
"""
# The whole library before a kernel that takes a part of it, and host code behind: the form of most files.
WHOLE_CUB = r"""
#include <cub/cub.cuh>
template <int THREADS, int ITEMS>
__global__ void argsort(const float* x, int* order, int n) {
  using Load = cub::BlockLoad<float, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, THREADS, ITEMS, cub::BLOCK_STORE_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<float, THREADS, ITEMS, int>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Sort::TempStorage sort;
  } storage;
  float key[ITEMS];
  int index[ITEMS];
  Load(storage.load).Load(x + blockIdx.x * n, key, n, __int_as_float(0x7f800000));
  for (int item = 0; item < ITEMS; ++item) index[item] = threadIdx.x * ITEMS + item;
  __syncthreads();
  Sort(storage.sort).Sort(key, index);
  __syncthreads();
  Store(storage.store).Store(order + blockIdx.x * n, index, n);
}
void sort_all(const float* x, float* sorted, const int* from, int* order, int n, void* room, size_t bytes) {
  cub::DeviceRadixSort::SortPairs(room, bytes, x, sorted, from, order, n);
  argsort<128, 8><<<1, 128>>>(x, order, n);
}
"""
TORCH = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cub/block/block_reduce.cuh>
template <typename scalar_t>
__global__ void rms_norm(scalar_t* out, const scalar_t* x, const scalar_t* weight, float epsilon, int columns) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ float scale;
  float squares = 0;
  for (int i = threadIdx.x; i < columns; i += 128) {
    const float value = static_cast<float>(x[blockIdx.x * columns + i]);
    squares += value * value;
  }
  squares = Reduce(storage).Sum(squares);
  if (threadIdx.x == 0) scale = rsqrtf(squares / columns + epsilon);
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += 128) {
    const float value = static_cast<float>(x[blockIdx.x * columns + i]);
    out[blockIdx.x * columns + i] = static_cast<scalar_t>(value * scale) * weight[i];
  }
}
torch::Tensor norm(torch::Tensor x, torch::Tensor weight, double epsilon) {
  TORCH_CHECK(x.is_cuda(), "on a GPU");
  auto out = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "norm", [&] {
    rms_norm<scalar_t><<<x.size(0), 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        out.data_ptr<scalar_t>(), x.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>(), epsilon, x.size(1));
  });
  return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("norm", &norm); }
"""
# What a kernel itself takes of torch: arrays with their sizes.
ACCESSORS = r"""
#include <torch/extension.h>
template <typename scalar_t>
__global__ void add_rows(torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> x, const scalar_t* bias) {
  for (int i = threadIdx.x; i < x.size(1); i += blockDim.x) x[blockIdx.x][i] += bias[i];
}
void add(torch::Tensor x, torch::Tensor bias) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "add", [&] {
    add_rows<scalar_t><<<x.size(0), 128>>>(
        x.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(), bias.data_ptr<scalar_t>());
  });
}
"""
GROUPS = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
extern "C" __global__ void sums(const float* x, float* out, int turns) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ float tile[2][128];
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  float sum = 0;
  for (int turn = 0, ahead = 0; turn < turns; ++turn) {
    for (; ahead < turns && ahead < turn + 2; ++ahead) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, tile[ahead % 2], x + ahead * 128, sizeof(float) * 128, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += tile[turn % 2][threadIdx.x];
    pipe.consumer_release();
  }
  auto warp = cg::tiled_partition<32>(block);
  sum = cg::reduce(warp, sum, cg::plus<float>());
  if (warp.thread_rank() == 0) out[warp.meta_group_rank()] = sum;
}
"""
