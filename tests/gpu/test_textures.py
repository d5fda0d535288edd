"""Objects of textures and surfaces, made by CuPy, in whole kernels and in regions, against NumPy."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tle_raw
from tests.gpu.device import COMPILE_ONLY, DEVICE, ON_CPU
from tle_raw import Element, Scalar

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(COMPILE_ONLY or ON_CPU, reason="textures are a GPU's")]

SOURCE = r"""
struct View { cudaTextureObject_t image; int width; };
__global__ void fetched(float* out, cudaTextureObject_t line, View view, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = tex1Dfetch<float>(line, i) + 1000 * tex2D<float>(view.image, i % view.width + .5f, i / view.width + .5f);
}
__global__ void stepped(float* out, cudaSurfaceObject_t s, int width, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int x = i % width * (int)sizeof(float), y = i / width;
  const float before = surf2Dread<float>(s, x, y);
  surf2Dwrite(before + 1, s, x, y);
  out[i] = before + 100 * surf2Dread<float>(s, x, y);
}
__device__ float between(cudaTextureObject_t t, float x, float y) { return tex2D<float>(t, x, y); }
"""


@pytest.fixture(scope="module")
def cupy():
    return pytest.importorskip("cupy")


def _array(cupy, values, surface=False):
    from cupy.cuda import runtime, texture

    channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = texture.CUDAarray(channel, values.shape[1], values.shape[0], 0, int(surface) * 2)  # ..SurfaceLoadStore
    array.copy_from(values)
    return array


def _image(cupy, values, linear=False):
    from cupy.cuda import runtime, texture

    resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=_array(cupy, values))
    how = runtime.cudaFilterModeLinear if linear else runtime.cudaFilterModePoint
    described = texture.TextureDescriptor((runtime.cudaAddressModeClamp,) * 2, how, runtime.cudaReadModeElementType)
    return texture.TextureObject(resource, described)


def _line(cupy, values):
    from cupy.cuda import runtime, texture

    channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    resource = texture.ResourceDescriptor(
        runtime.cudaResourceTypeLinear, arr=cupy.asarray(values), chDesc=channel, sizeInBytes=values.nbytes
    )
    return texture.TextureObject(resource, texture.TextureDescriptor())


@pytest.mark.parametrize("rows, columns", [(1, 1), (7, 13), (33, 500)])
def test_fetches(cupy, rows, columns):
    image = np.random.default_rng(rows).standard_normal((rows, columns)).astype(np.float32)
    line = np.random.default_rng(columns).standard_normal(image.size).astype(np.float32)
    out = torch.zeros(image.size, device=DEVICE)
    kernel = tle_raw.fragment(SOURCE, dialect="cuda", symbol="fetched").as_kernel(block=96)
    kernel[(-(-image.size // 96),)](out, _line(cupy, line), (_image(cupy, image), columns), image.size)
    want = line.astype(np.float64) + 1000 * image.ravel().astype(np.float64)
    np.testing.assert_allclose(out.cpu().numpy(), want, rtol=2e-6, atol=2e-4)


@pytest.mark.parametrize("rows, columns", [(3, 5), (40, 129)])
def test_a_surface_is_read_written_and_read(cupy, rows, columns):
    from cupy.cuda import runtime, texture

    values = np.random.default_rng(rows).integers(0, 50, (rows, columns)).astype(np.float32)
    array = _array(cupy, values, surface=True)
    surface = texture.SurfaceObject(texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array))
    out = torch.zeros(values.size, device=DEVICE)
    kernel = tle_raw.fragment(SOURCE, dialect="cuda", symbol="stepped").as_kernel(block=64)
    kernel[(-(-values.size // 64),)](out, surface, columns, values.size)
    np.testing.assert_array_equal(out.cpu().numpy(), (values + 100 * (values + 1)).ravel())
    after = np.empty_like(values)
    array.copy_to(after)
    np.testing.assert_array_equal(after, values + 1)


@tle_raw.dialect("cuda", source=SOURCE)
def between(t: Scalar["u64"], x: Element["f32"], y: Element["f32"]) -> Element["f32"]: ...


@triton.jit
def halfway(out, image: "u64", width, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = (i % width).to(tl.float32) + 1.0, (i // width).to(tl.float32) + 0.5
    tl.store(out + i, between(image, x, y) * 2, i < n)


def test_a_region_of_a_triton_kernel_fetches(cupy):
    image = np.random.default_rng(0).standard_normal((11, 70)).astype(np.float32)
    out = torch.zeros(image.size, device=DEVICE)
    texture = _image(cupy, image, linear=True)
    halfway[(triton.cdiv(image.size, 128),)](out, texture.ptr, 70, image.size, BLOCK=128)
    right = np.concatenate([image[:, 1:], image[:, -1:]], 1).astype(np.float64)
    # The hardware's weights have eight bits behind the point.
    np.testing.assert_allclose(out.cpu().numpy().reshape(image.shape), image + right, rtol=0, atol=2**-7)
