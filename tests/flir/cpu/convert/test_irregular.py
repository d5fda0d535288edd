"""Accesses by data (gather, histogram), functions of elements, random numbers, libdevice, inline assembly."""

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import numpy as np
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from tests.flir.cpu.convert.support import assert_close, assert_lines, assert_same, random_tensor
from tests.support import TRITON, cause_of
from tle_raw.errors import LoweringError

pytestmark = pytest.mark.every_triton(4)


@triton.jit
def gathered(x, index, out, N: tl.constexpr, M: tl.constexpr, AXIS: tl.constexpr, COUNT: tl.constexpr):
    source = tl.load(x + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :])
    if AXIS == 0:
        at = tl.arange(0, COUNT)[:, None] * M + tl.arange(0, M)[None, :]
    else:
        at = tl.arange(0, N)[:, None] * COUNT + tl.arange(0, COUNT)[None, :]
    tl.store(out + at, tl.gather(source * 2, tl.load(index + at), AXIS))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("count", [4, 64])
@pytest.mark.parametrize("dtype", [torch.int8, torch.float32], ids=str)
def test_gathers(axis, count, dtype, tmp_path):
    n, m = 16, 32
    x = random_tensor(dtype, n, m)
    index = torch.randint(0, x.shape[axis], (count, m) if axis == 0 else (n, count), dtype=torch.int32)
    out = torch.zeros(index.shape, dtype=dtype)
    text = gathered[(1,)](x, index, out, N=n, M=m, AXIS=axis, COUNT=count).asm["linalg"]
    assert_same(out, (x * 2).gather(axis, index.long()))
    # The tile that is gathered from lies in a buffer; an index is kept inside of it.
    assert_lines(text, "// CHECK: memref.alloca\n// CHECK: arith.minui {{.*}} : index\n// CHECK: memref.load", tmp_path)


@triton.jit
def wild_gather(x, index, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(index + at), 0))


def test_an_index_outside_of_the_tile_reads_no_foreign_memory():
    x, out = random_tensor(torch.float32, 32), torch.zeros(32)
    index = torch.tensor([-1, 32, 2**30, -(2**31)] * 8, dtype=torch.int32)
    wild_gather[(1,)](x, index, out, N=32)
    assert bool(torch.isin(out, x).all())


@triton.jit
def counted(x, out, masked, n, N: tl.constexpr, BINS: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    tl.store(out + tl.arange(0, BINS), tl.histogram(value, BINS))
    tl.store(masked + tl.arange(0, BINS), tl.histogram(value, BINS, mask=(at < n) & (value % 2 == 0)))


@pytest.mark.parametrize("bins", [4, 16, 256])
def test_histograms(bins):
    x = random_tensor(torch.int32, 128) & (bins - 1)
    out, masked = torch.zeros(2, bins, dtype=torch.int32)
    counted[(1,)](x, out, masked, 100, N=128, BINS=bins)
    assert_same(out, torch.bincount(x, minlength=bins))
    assert_same(masked, torch.bincount(x[:100][x[:100] % 2 == 0], minlength=bins))


def test_values_outside_of_a_histogram_are_not_counted():
    x = torch.tensor([-1, 4, 3, 2**31 - 1] * 32, dtype=torch.int32)
    out, masked = torch.zeros(2, 4, dtype=torch.int32)
    counted[(1,)](x, out, masked, 128, N=128, BINS=4)
    assert out.tolist() == [0, 0, 0, 32]


@triton.jit
def clipped(a, b):
    if a > b:
        result = a - b
    else:
        result = b * 2 + 1
    return result, a


@triton.jit
def clipped_pairs(a0, a1, b0, b1):
    return a0 + a1, b0 * 3 + b1, a0 - 1, b1


@triton.jit
def mapped(x, y, out, N: tl.constexpr, PACK: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x + at), tl.load(y + at)
    if PACK == 1:
        c, d = tl.map_elementwise(clipped, a, b)
    else:
        c, d = tl.map_elementwise(clipped_pairs, a, b, pack=2)
    tl.store(out + at, c)
    tl.store(out + N + at, d)


@pytest.mark.parametrize("pack", [1, 2])
def test_functions_of_elements(pack):
    x, y = (random_tensor(torch.int32, 64, seed=seed) % 100 for seed in (1, 2))
    out = torch.zeros(2, 64, dtype=torch.int32)
    mapped[(1,)](x, y, out, N=64, PACK=pack)
    if pack == 1:
        assert_same(out, torch.stack([torch.where(x > y, x - y, y * 2 + 1), x]))
        return
    a, b = x.reshape(-1, 2), y.reshape(-1, 2)
    first = torch.stack([a[:, 0] + a[:, 1], b[:, 0] * 3 + b[:, 1]], 1)
    second = torch.stack([a[:, 0] - 1, b[:, 1]], 1)
    assert_same(out, torch.stack([first.flatten(), second.flatten()]))


@triton.jit
def random_numbers(uniform, normal, ints, four, seed, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(uniform + at, tl.rand(seed, at))
    tl.store(normal + at, tl.randn(seed, at))
    tl.store(ints + at, tl.randint(seed, at))
    a, b, c, d = tl.randint4x(seed, at)
    tl.store(four + at, a)
    tl.store(four + N + at, b)
    tl.store(four + 2 * N + at, c)
    tl.store(four + 3 * N + at, d)


def philox(seed, counters):
    """Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (2011): Philox 4x32 with ten rounds."""
    mask = 0xFFFFFFFF
    results = []
    for c in counters:
        c0, c1, c2, c3, k0, k1 = c, 0, 0, 0, seed & mask, seed >> 32 & mask
        for _ in range(10):
            a, b = c0 * 0xD2511F53, c2 * 0xCD9E8D57
            c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & mask, (a >> 32) ^ c3 ^ k1, a & mask
            k0, k1 = k0 + 0x9E3779B9 & mask, k1 + 0xBB67AE85 & mask
        results.append((c0, c1, c2, c3))
    return np.array(results, dtype=np.uint32).T


@pytest.mark.parametrize("seed", [0, 12345, 2**40 + 17])
def test_random_numbers_are_philox(seed):
    n = 1024
    uniform, normal = torch.zeros(2, n)
    ints, four = torch.zeros(n, dtype=torch.int32), torch.zeros(4, n, dtype=torch.int32)
    random_numbers[(1,)](uniform, normal, ints, four, seed, N=n)
    expected = philox(seed, range(n)).view(np.int32)
    np.testing.assert_array_equal(four.numpy(), expected)
    np.testing.assert_array_equal(ints.numpy(), expected[0])
    assert uniform.min() >= 0 and uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.05
    assert abs(normal.mean()) < 0.15 and abs(normal.std() - 1) < 0.1


@triton.jit
def functions(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + at)
    tl.store(out + at, tl.exp(v))
    tl.store(out + N + at, tl.exp2(v))
    tl.store(out + 2 * N + at, tl.log(tl.abs(v)))
    tl.store(out + 3 * N + at, tl.log2(tl.abs(v)))
    tl.store(out + 4 * N + at, tl.sin(v))
    tl.store(out + 5 * N + at, tl.cos(v))
    tl.store(out + 6 * N + at, tl.sqrt(tl.abs(v)))
    tl.store(out + 7 * N + at, tl.rsqrt(tl.abs(v)))
    tl.store(out + 8 * N + at, tl.erf(v))
    tl.store(out + 9 * N + at, tl.floor(v))
    tl.store(out + 10 * N + at, tl.ceil(v))
    tl.store(out + 11 * N + at, libdevice.tanh(v))
    tl.store(out + 12 * N + at, libdevice.pow(tl.abs(v), v))
    tl.store(out + 13 * N + at, libdevice.atan2(v, v + 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_functions(dtype):
    x = random_tensor(dtype, 128)
    out = torch.zeros(14, 128, dtype=dtype)
    functions[(1,)](x, out, N=128)
    v = x.double()
    a = v.abs()
    expected = [v.exp(), v.exp2(), a.log(), a.log2(), v.sin(), v.cos(), a.sqrt(), a.rsqrt(), v.erf(), v.floor()]
    expected += [v.ceil(), v.tanh(), a**v, torch.atan2(v, v + 1)]
    for number, e in enumerate(expected):
        assert_close(out[number], e, 4 * torch.finfo(dtype).eps, number)


@triton.jit
def integer_functions(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, libdevice.clz(a))
    tl.store(out + N + at, libdevice.popc(a))
    tl.store(out + 2 * N + at, libdevice.ffs(a))
    tl.store(out + 3 * N + at, libdevice.mulhi(a, b))
    tl.store(out + 4 * N + at, libdevice.brev(a))


def test_integer_functions_of_libdevice():
    x, y = (random_tensor(torch.int32, 64, seed=seed, special=True) for seed in (1, 2))
    out = torch.zeros(5, 64, dtype=torch.int32)
    integer_functions[(1,)](x, y, out, N=64)
    bits = [f"{v & 0xFFFFFFFF:032b}" for v in x.tolist()]
    assert out[0].tolist() == [32 - len(b.lstrip("0")) for b in bits]
    assert out[1].tolist() == [b.count("1") for b in bits]
    assert out[2].tolist() == [32 - b.rfind("1") if "1" in b else 0 for b in bits]
    assert out[3].tolist() == [a * b >> 32 for a, b in zip(x.tolist(), y.tolist())]
    assert [v & 0xFFFFFFFF for v in out[4].tolist()] == [int(b[::-1], 2) for b in bits]


@tl.core.extern
def unknown(x, _semantic=None):
    kinds = {(tl.float32,): ("__acme_frobnicate", tl.float32)}
    return tl.core.extern_elementwise("", "", [x], kinds, is_pure=True, _semantic=_semantic)


@triton.jit
def calls_the_unknown(x, out):
    tl.store(out, unknown(tl.load(x)))  # here


@triton.jit
def assembly(x, out):
    at = tl.arange(0, 16)
    v = tl.inline_asm_elementwise("{ bar.sync 0; }", "=r,r", [tl.load(x + at)], tl.int32, True, 1)  # here
    tl.store(out + at, v)


@pytest.mark.parametrize(
    "kernel, dtype, words",
    [(calls_the_unknown, torch.float32, "__acme_frobnicate"), (assembly, torch.int32, "a barrier")],
)
def test_what_has_no_lowering_is_named_with_its_line(kernel, dtype, words):
    x = torch.zeros(16, dtype=dtype)
    with pytest.raises(Exception) as caught:
        kernel[(1,)](x, x)
    error = cause_of(caught.value)
    assert isinstance(error, LoweringError)
    assert words in str(error)
    assert "# here" in str(error)
    assert "test_irregular.py" in str(error)


@triton.jit
def divided(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, tl.fdiv(a, b, approx=True))
    tl.store(out + N + at, tl.fdiv(a, b, ieee_rounding=True))


@pytest.mark.skipif(TRITON < (3, 9), reason="Triton 3.9 has approximate divisions")
def test_approximate_divisions():
    x, y = (random_tensor(torch.float32, 64, seed=seed) for seed in (1, 2))
    out = torch.zeros(2, 64)
    divided[(1,)](x, y, out, N=64)
    assert_same(out[0], x / y)
    assert_same(out[1], x / y)


@triton.jit
def waiting(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.extra.cuda.gdc_wait()
    tl.store(out + at, tl.load(x + at) + 1)
    tl.extra.cuda.gdc_launch_dependents()


@pytest.mark.skipif(TRITON < (3, 9), reason="older versions write PTX for it")
def test_waiting_for_other_grids_does_nothing():
    x, out = random_tensor(torch.float32, 64), torch.zeros(64)
    waiting[(1,)](x, out, N=64)
    assert_same(out, x + 1)
