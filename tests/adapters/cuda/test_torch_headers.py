"""Extensions of torch: their host headers, whichever they are, are not in a kernel's way."""

import numpy as np
import pytest

import tle_raw
from tle_raw.adapters.cuda.torch_host_headers import LIGHT, host_headers

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


def test_an_extension_is_compiled_whichever_headers_of_torchs_it_has():
    pytest.importorskip("torch")
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
