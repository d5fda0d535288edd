"""as_kernel(): __global__ functions launched through Triton, on the CPU, and compiled for GPUs."""

import math

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tle_raw
from tests.adapters.cuda.test_global_functions import KERNELS, of
from tests.support import cause_of, compile_kernel, ptx_calls, report_of
from tle_raw import InOut, Tile
from tle_raw.adapters.common.launch_arguments import check_arguments
from tle_raw.errors import ArgumentCountError, ArgumentTypeError, DialectError, LaunchError, RegionError

pytestmark = pytest.mark.every_triton(2)

MORE = r"""
__global__ void matmul(const float* a, const float* b, float* in, int n) {
  __shared__ float as[16][16], bs[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    as[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : 0;
    bs[threadIdx.y][threadIdx.x] = column < n && k + threadIdx.y < n ? b[(k + threadIdx.y) * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) in[row * n + column] = sum;
}

__global__ void histogram(unsigned* counts, const unsigned char* x, size_t n, double scale) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    atomicAdd(&counts[x[i] % 16], (unsigned)scale);
}

__global__ void twice(float2* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = make_float2(z[i].x * 2, -z[i].y);
}

__global__ void add_one(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}

__global__ void sum(const float* x, float* out, int n) {
  __shared__ float of_warps[32];
  const int thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
  float all = 0;
  for (int i = thread; i < n; i += threads) all += x[blockIdx.x * n + i];
  for (int mask = 16; mask; mask /= 2) all += __shfl_xor_sync(0xffffffff, all, mask);
  if (thread % 32 == 0) of_warps[thread / 32] = all;
  __syncthreads();
  if (thread == 0) for (int warp = 1; warp < threads / 32; ++warp) all += of_warps[warp];
  if (thread == 0) out[blockIdx.x] = all;
}
"""


@pytest.fixture(autouse=True)
def on_cpu():
    """Numbers are those of the CPU, on a machine with a GPU too."""
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        yield


def more(symbol):
    return tle_raw.fragment(MORE, dialect="cuda", symbol=symbol)


def test_a_kernel_is_launched_as_triton_kernels_are():
    kernel = of("saxpy").as_kernel(block=128)
    x, y = np.random.rand(1000).astype(np.float32), np.random.rand(1000).astype(np.float32)
    expected = 1.5 * x.astype(np.float64) + y
    kernel[(8,)](1.5, x, y, 1000)
    np.testing.assert_allclose(y, expected, rtol=1e-6)


@pytest.mark.one_triton
def test_the_grid_may_depend_on_the_block_which_a_call_may_change():
    kernel = of("saxpy").as_kernel()
    for block in (64, (32, 1, 1)):
        x, y = torch.rand(777), torch.rand(777)
        expected = 1.5 * x.double() + y.double()
        kernel(1.5, x, y, 777, grid=lambda meta: -(-777 // meta["block"][0]), block=block)
        torch.testing.assert_close(y.double(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.one_triton
def test_a_parameter_may_have_the_name_of_a_python_keyword():
    n = 37
    a, b = np.random.rand(n, n).astype(np.float32), np.random.rand(n, n).astype(np.float32)
    out = np.zeros((n, n), np.float32)
    more("matmul").as_kernel(block=(16, 16))[(3, 3)](a, b, out, n)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b, rtol=1e-5)


@pytest.mark.one_triton
def test_arrays_of_signed_integers_are_memory_of_unsigned_ones():
    x, counts = torch.randint(0, 256, (5000,), dtype=torch.uint8), torch.zeros(16, dtype=torch.int32)
    more("histogram").as_kernel(block=256)[(4,)](counts, x, 5000, 3.7)
    np.testing.assert_array_equal(counts.numpy(), 3 * np.bincount(x.numpy() % 16, minlength=16))


@pytest.mark.one_triton
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_arrays_of_complex_numbers_are_memory_of_pairs(library):
    z = (np.random.rand(100) + 1j * np.random.rand(100)).astype(np.complex64)
    expected = 2 * z.real - 1j * z.imag
    given = z if library == "numpy" else torch.from_numpy(z)
    more("twice").as_kernel(block=32)[(4,)](given, 100)
    np.testing.assert_allclose(z, expected, rtol=1e-6)


@pytest.mark.one_triton
def test_dynamic_shared_memory_may_follow_the_block():
    kernel = of("reverse").as_kernel(block=64, shared=lambda block: 8 * block[0])
    x = np.random.rand(256).astype(np.float32)
    expected = x.reshape(4, 64)[:, ::-1] + 3
    kernel[(4,)](x)
    np.testing.assert_allclose(x.reshape(4, 64), expected, rtol=1e-6)


@pytest.mark.one_triton
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_the_fastest_block_is_chosen_and_what_is_measured_leaves_no_trace(library):
    kernel = more("add_one").as_kernel(block=[(64,), (128,)], key="n")
    x = np.random.rand(500).astype(np.float32)
    expected = x + 1
    given = x if library == "numpy" else torch.from_numpy(x)
    kernel[lambda meta: (-(-500 // meta["block"][0]),)](given, 500)
    np.testing.assert_array_equal(x, expected)
    assert kernel.kernel.best_config.kwargs["BLOCK"] in (0, 1)


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
@pytest.mark.parametrize("symbol, block", [("matmul", (16, 16)), ("histogram", 256), ("twice", 64)])
def test_a_kernel_compiles_without_a_gpu(symbol, block, target):
    compiled = more(symbol).as_kernel(block=block).compile(target)
    report = report_of(compiled, machine_code=(symbol, target) in (("matmul", "cuda:80"), ("histogram", "cuda:90")))
    assert report.one_kernel and not ptx_calls(compiled) and report.regions[0].inlined
    assert compiled.metadata.num_warps * 32 == (block if isinstance(block, int) else block[0] * block[1])


@pytest.mark.parametrize("block", [96, (24, 4), (320,), (992,)])
def test_a_block_may_be_any_number_of_warps(block):
    kernel, x, out = more("sum").as_kernel(block=block), torch.rand(3, 1001), torch.zeros(3)
    kernel[(3,)](x, out, 1001)
    torch.testing.assert_close(out.double(), x.double().sum(1), rtol=1e-5, atol=0)
    threads = math.prod(block) if isinstance(block, tuple) else block
    compiled = kernel.compile("cuda:90")
    assert compiled.metadata.num_warps * 32 == threads and f".reqntid {threads}\n" in compiled.asm["ptx"]


def test_only_a_kernel_without_tensors_has_any_number_of_warps():
    region = tle_raw.fragment(MORE, dialect="cuda", symbol="sum", block=96)

    @triton.jit
    def with_tensor(x, out, n):
        region(x, out, n)
        tl.store(out + tl.arange(0, 32), tl.load(out + tl.arange(0, 32)) + 1)

    with pytest.raises(Exception) as caught:
        compile_kernel(with_tensor, {"x": "*fp32", "out": "*fp32", "n": "i32"}, capability=90, num_warps=4)
    assert isinstance(cause_of(caught.value), RegionError) and "96 (block=(96,))" in str(cause_of(caught.value))
    with pytest.raises(Exception) as caught:
        with_tensor[(1,)](torch.rand(32), torch.zeros(32), 32)
    assert isinstance(cause_of(caught.value), RegionError)


@pytest.mark.parametrize("block", [1025, 2048, (16, 300), 0, (1, 1, 1, 1), "16", [(16, 16), (70, 70)]])
def test_a_block_that_triton_cannot_launch_is_refused(block):
    with pytest.raises(DialectError):
        of("saxpy").as_kernel(block=block)


def test_a_launch_needs_a_block():
    with pytest.raises(LaunchError, match="how many threads"):
        of("saxpy").as_kernel()(1.0, np.zeros(1, np.float32), np.zeros(1, np.float32), 1, grid=1)


@pytest.mark.parametrize("options", [{"blocks": 32}, {"key": "m", "block": 32}])
def test_unknown_options_are_refused(options):
    with pytest.raises(DialectError):
        of("saxpy").as_kernel(**options)


def test_arguments_are_checked_against_the_prototype():
    kernel, x = of("saxpy").as_kernel(block=32), np.zeros(8, np.float32)
    with pytest.raises(ArgumentCountError):
        kernel(1.0, x, x, grid=1)
    with pytest.raises(ArgumentTypeError) as error:
        kernel(1.0, x.astype(np.float64), 3, x, grid=1)
    assert [row.what for row in error.value.table] == ["x", "y", "n"]


def test_device_functions_and_signatures_with_tiles_are_no_whole_kernels():
    @tle_raw.dialect("cuda", source=KERNELS)
    def reverse(x: InOut[Tile["f32", 64]]): ...

    for fragment in (of("half_of"), reverse):
        with pytest.raises(DialectError, match="whole kernel"):
            fragment.as_kernel(block=32)
    with pytest.raises(DialectError, match="block indices"):
        of("block_of", grid={"x": "row"}).as_kernel(block=32)


class DeviceArray:
    """What CuPy's arrays and PyCUDA's tell of themselves."""

    def __init__(self, array):
        self.dtype, self.shape = array.dtype, array.shape
        self.__cuda_array_interface__ = {"data": (array.ctypes.data, False), "typestr": array.dtype.str, "version": 3}


def test_arrays_of_other_libraries_pass_by_their_address():
    source = of("saxpy")._source
    x = np.zeros(4, np.float32)
    passed = check_arguments(source.signature, (1.5, DeviceArray(x), DeviceArray(x), np.int32(4)), source)
    assert passed[1].data_ptr() == x.ctypes.data and str(passed[1].dtype) == "float32" and passed[3] == 4
    with pytest.raises(ArgumentTypeError, match="x"):
        check_arguments(source.signature, (1.5, DeviceArray(np.zeros(4)), x, 4), source)
