"""A packed library on a GPU, against NumPy: an earlier release packed it, and no compiler of CUDA is asked."""

import sys

import numpy as np
import pytest
import triton
import triton.language as tl

from tests.libraries.keep import kept

pytestmark = pytest.mark.gpu
PACKED = kept()[0]


@pytest.fixture(scope="module")
def kernels():
    sys.path.insert(0, str(PACKED))
    from acme_math import clip, count_bytes, rms_rows, softplus

    @triton.jit
    def elements(x, y, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + at, clip(softplus(tl.load(x + at, mask=at < n)), 0.25, 1.5), mask=at < n)

    @triton.jit
    def rows(x, y, values, n, bins, count, COLS: tl.constexpr):
        row = tl.program_id(0) * 4 + tl.arange(0, 4)[:, None]
        at = row * COLS + tl.arange(0, COLS)[None, :]
        tl.store(y + at, rms_rows(tl.load(x + at, mask=row < count, other=1.0), 1e-5), mask=row < count)
        count_bytes(values, n, bins)

    yield elements, rows
    sys.path.remove(str(PACKED))


def test_each_function_gives_numpys_numbers(kernels):
    import torch

    elements, rows = kernels
    random = np.random.default_rng(0)
    x = random.standard_normal(10007).astype(np.float32) * 8
    given = torch.from_numpy(x).cuda()
    got = torch.empty_like(given)
    elements[(triton.cdiv(x.size, 1024),)](given, got, x.size, 1024)
    exact = np.clip(np.logaddexp(x.astype(np.float64), 0), 0.25, 1.5)
    np.testing.assert_allclose(got.cpu().numpy(), exact, rtol=1e-5)

    values = random.integers(0, 256, 5000).astype(np.uint8)
    for dtype, tolerance in ((np.float32, 1e-5), (np.float16, 4e-3)):
        x = random.standard_normal((123, 64)).astype(dtype)
        given, bins = torch.from_numpy(x).cuda(), torch.zeros(256, dtype=torch.int32, device="cuda")
        got = torch.empty_like(given)
        rows[(31,)](given, got, torch.from_numpy(values).cuda(), values.size, bins, 123, 64)
        wide = x.astype(np.float64)
        exact = wide / np.sqrt((wide * wide).mean(axis=1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(got.cpu().numpy(), exact, atol=tolerance)
        np.testing.assert_array_equal(bins.cpu().numpy(), np.bincount(values, minlength=256))
