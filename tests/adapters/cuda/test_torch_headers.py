"""Extensions of torch: their host headers, whichever they are, are not in a kernel's way."""

import importlib.util

import numpy as np
import pytest

import tle_raw
from tle_raw.adapters.cuda.torch_host_headers import LIGHT, host_headers
from tle_raw.errors import SignatureError

# Torch's headers are read and torch itself is not imported: kernels that are thrown away meanwhile make Triton 3.9 ask
# the half-imported torch for GPUs.
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")

EXTENSION = """
#include <ATen/TensorIterator.h>
#include <ATen/cuda/CUDAApplyUtils.cuh>
#include <ATen/ops/empty.h>
#include <THC/THCAtomics.cuh>
#include <c10/core/Storage.h>
#include <torch/extension.h>
#include <unordered_map>

template <class F> struct Launcher {
  std::function<void(F&)> run;
  std::unordered_map<int, F> kept;
};

template <class T> __device__ T at_least(T x, double least) {
  const T bound = T(least);
  return x >= 0 && x < bound ? bound : x;
}

template <class T> __global__ void sums(T* out, const T* x, int rows, int columns) {
  CUDA_KERNEL_ASSERT(columns > 0);
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  for (int row = 0; row < rows; row++) gpuAtomicAdd(out + column, at_least(x[row * columns + column], 0.5));
}

at::Tensor launch(at::Tensor x) {
  auto iterator = at::TensorIteratorConfig().add_input(x).build();
  c10::Storage storage = x.storage();
  auto out = at::empty({x.size(1)}, x.options());
  sums<float><<<1, 32>>>(out.data_ptr<float>(), x.data_ptr<float>(), x.size(0), x.size(1));
  return out;
}
"""


@needs_torch
@pytest.mark.one_triton
def test_an_extension_is_compiled_whichever_headers_of_torchs_it_has():
    x = np.random.default_rng(1).random((4, 45)).astype(np.float16)
    out = np.zeros(45, np.float16)
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        tle_raw.fragment(EXTENSION, dialect="cuda", symbol="sums<c10::Half>").as_kernel(block=32)[(2,)](out, x, 4, 45)
    np.testing.assert_allclose(out, np.maximum(x, 0.5).astype(np.float64).sum(0), rtol=4e-3)


def test_what_stands_in_for_host_headers_alone(tmp_path):
    """A header leads to torch's classes, or it does not; it has device code, or it has not."""
    texts = {
        "c10/util/intrusive_ptr.h": "template <class T, class N> class intrusive_ptr;",
        "c10/core/Storage.h": "#include <c10/util/intrusive_ptr.h>",
        "ATen/Owner.h": "#include <c10/core/Storage.h>",
        "ATen/Asserts.h": "#include <c10/core/Storage.h>\nstatic __device__ void check();",
        "ATen/Apply.cuh": "#include <ATen/Owner.h>",
        "ATen/Types.h": "#include <c10/util/Half.h>",
        "ATen/OfTensors.h": "#include <ATen/core/Tensor.h>",  # tle_raw has one in its place
        "ATen/Unnamed.h": "#include <c10/util/intrusive_ptr.h>",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    named = ["ATen/Apply.cuh", "ATen/Asserts.h", "ATen/Types.h", "ATen/OfTensors.h", "vector", "ATen/Absent.h"]
    found = host_headers(tmp_path, named)
    assert set(found) == {"c10/util/intrusive_ptr.h", "c10/core/Storage.h", "ATen/Owner.h", "ATen/OfTensors.h"}
    assert set(found.values()) == {LIGHT}


OWNER = """
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/native/TensorIterator.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/extension.h>
namespace mine {
template <class T> concept Whole = std::same_as<T, int> || std::same_as<T, long>;
template <class... A> auto packed(A&&... a) { return std::make_tuple(a.clone()...); }
struct Scale : torch::CustomClassHolder {
  at::Tensor weights;
  c10::intrusive_ptr<Scale> next;
  const c10::cuda::CUDAStream stream;
  explicit Scale(at::Tensor w) : weights(std::move(w)), stream(c10::cuda::getCurrentCUDAStream()) {}
  int64_t rows() const { return weights.sizes().size() + at::native::of_nobody(weights); }
  at::native::Known<float>* known = nullptr;
};
template <class T> struct Packed;
template <> struct Packed<Scale> { static auto of(const Scale& s) { return packed(s.weights); } };
class Applied : public torch::autograd::Function<Applied> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const at::Tensor& x) {
    return {x * 2};
  }
};
template <int N> struct Strides {
  long of[N];
  Strides(const at::TensorIteratorBase& from) { for (int i = 0; i < N; i++) of[i] = from.strides(0)[i]; }
};
}
"""
OWNED = """
#include "owner.h"
template <mine::Whole I>
__global__ void scale(float* out, const c10::Half* x, I n) {
  const I i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = static_cast<at::opmath_type<c10::Half>>(x[i]) * 2;
}
at::Tensor launch(at::Tensor x) { return mine::Applied::apply(x)[0]; }
"""


@pytest.fixture
def owned(tmp_path):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    (tmp_path / "owner.h").write_text(OWNER)
    (tmp_path / "owned.cu").write_text("#include <ATen/OpMathType.h>\n" + OWNED)
    return tmp_path / "owned.cu"


@pytest.mark.one_triton
def test_host_classes_that_hold_and_extend_torchs_are_in_no_kernels_way(owned):
    """Fields, bases, members and names of torch's that its light stand-ins do not have; concepts; numbers are right."""
    x = np.random.default_rng(2).random(45).astype(np.float16)
    out = np.zeros(45, np.float32)
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        tle_raw.fragment(owned, dialect="cuda", symbol="scale<int>").as_kernel(block=32)[(2,)](out, x, x.size)
    np.testing.assert_array_equal(out, x.astype(np.float32) * 2)


HELD = """
#include <ATen/core/Tensor.h>
struct Held { float* out; at::Tensor of; };
__global__ void taken(Held held) { held.out[threadIdx.x] = 1; }
"""


@needs_torch
def test_a_kernel_that_takes_a_host_class_is_refused():
    """The stand-ins do not have the sizes of torch's classes: an argument would be laid out wrongly."""
    with pytest.raises(SignatureError, match="virtual functions"):
        tle_raw.fragment(HELD, dialect="cuda", symbol="taken")
