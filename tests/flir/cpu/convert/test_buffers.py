"""Shared buffers: memory, its views, and buffers that loops, branches and functions carry. NumPy says what is right."""

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import torch
import triton
import triton.language as tl

from tests.flir.cpu.convert import buffer_builtins as tb
from tests.flir.cpu.convert.support import FLOATS, INTEGERS, SMALL_FLOATS, assert_same, name_of, random_tensor
from tle_raw.errors import LoweringError

pytestmark = pytest.mark.usefixtures("checked")


@triton.jit(do_not_specialize=["count"])  # one kernel for any number of rounds
def rounds(x, out, count, S: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Tiles through a ring of slots, read back transposed."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)
    turned = tl.arange(0, N)[:, None] * M + tl.arange(0, M)
    ring = tb.alloc([S, M, N], x.dtype.element_ty)
    for i in range(count):
        one = tb.slot(ring, i % S)
        tb.store(one, tl.load(x + i * M * N + at))
        tl.store(out + i * M * N + turned, tb.load(tb.trans(one, [1, 0])))


@pytest.mark.parametrize("dtype", (*INTEGERS, *FLOATS, *SMALL_FLOATS), ids=name_of)
@pytest.mark.every_triton(5)
def test_slots_hold_every_dtype_and_are_read_transposed(dtype):
    x = random_tensor(dtype, 5, 8, 32, special=dtype not in SMALL_FLOATS)
    out = torch.zeros(5, 32, 8, dtype=dtype)
    rounds[(1,)](x, out, 5, S=3, M=8, N=32)
    assert_same(out.float() if dtype in SMALL_FLOATS else out, x.mT.float() if dtype in SMALL_FLOATS else x.mT)


@pytest.mark.parametrize(("slots", "rows", "columns"), [(1, 1, 1), (7, 1, 64), (5, 16, 2), (3, 64, 64)])
@pytest.mark.every_triton(3)
def test_rings_of_odd_sizes(slots, rows, columns):
    x = random_tensor(torch.float32, 2 * slots + 1, rows, columns)
    out = torch.zeros(2 * slots + 1, columns, rows)
    rounds[(1,)](x, out, 2 * slots + 1, S=slots, M=rows, N=columns)
    assert_same(out, x.mT)


@triton.jit
def parts(x, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)
    whole = tb.alloc([M, N], tl.float32, tl.load(x + at))
    corner = tb.part(whole, [M // 2, N // 4], [M // 2, N // 4])
    small = tl.arange(0, M // 2)[:, None] * (N // 4) + tl.arange(0, N // 4)
    tl.store(out + small, tb.load(corner))
    tb.store(tb.trans(corner, [1, 0]), tl.trans(tb.load(corner)) * 2)
    tb.store(tb.part(tb.trans(whole, [1, 0]), [0, 0], [N // 2, M // 2]), tl.full([N // 2, M // 2], 7.0, tl.float32))
    tl.store(out + M * N + at, tb.load(whole))


def test_parts_of_parts_are_views_of_one_memory():
    x, out = random_tensor(torch.float32, 16, 32), torch.zeros(2, 16, 32)
    parts[(1,)](x, out, M=16, N=32)
    assert_same(out[0].flatten()[:64], x[8:, 8:16].flatten())
    expected = x.clone()
    expected[8:, 8:16] *= 2
    expected[:8, :16] = 7
    assert_same(out[1], expected)


@triton.jit
def shapes(x, out, bits, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M * N)
    flat = tb.alloc([M * N], tl.float32, tl.load(x + at))
    square = tb.reshape(flat, [M, N])
    tl.store(out + tl.arange(0, N)[:, None] * M + tl.arange(0, M), tb.load(tb.trans(square, [1, 0])))
    halves = tb.reinterpret(flat, [2, M * N], tl.int16, slots=True)
    for i in range(2):
        tl.store(bits + i * M * N + at, tb.load(tb.slot(halves, i)))


def test_reshaped_and_reinterpreted_buffers_are_the_same_bytes():
    x, out, bits = random_tensor(torch.float32, 8, 16), torch.zeros(16, 8), torch.zeros(256, dtype=torch.int16)
    shapes[(1,)](x, out, bits, M=8, N=16)
    assert_same(out, x.T)
    assert_same(bits, x.flatten().view(torch.int16))


@triton.jit
def torn(x, out, M: tl.constexpr, N: tl.constexpr):
    whole = tb.alloc([M, N], tl.float32, tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)))
    part = tb.part(whole, [0, 0], [M, N // 2])
    tl.store(out + tl.arange(0, M * N), tb.load(tb.reinterpret(part, [M * N], tl.int16)))  # here


@pytest.mark.skipif(tb.VERSION >= (3, 8), reason="Triton refuses it itself")
def test_a_part_that_is_no_whole_rows_is_not_reinterpreted():
    with pytest.raises(LoweringError, match="row by row") as caught:
        torn[(1,)](torch.zeros(8, 8), torch.zeros(64, dtype=torch.int16), M=8, N=8)
    assert "# here" in str(caught.value)


@triton.jit
def twice(source, target):
    tb.store(target, tb.load(source) * 2)
    return target, source


@triton.jit(do_not_specialize=["n"])
def carried(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tb.alloc([N], tl.float32, tl.load(x + at)), tb.alloc([N], tl.float32)
    for _ in range(n):
        a, b = twice(a, b)
    tl.store(out + at, tb.load(a))
    i = 0
    while i < n:
        i += 1
        a, b = twice(a, b)
    tl.store(out + N + at, tb.load(a))
    c = a
    if n % 2 == 0:
        c = b
        tb.store(c, tl.zeros([N], tl.float32) + n)
    d = a
    if n <= 3:
        d = b
    tl.store(out + 2 * N + at, tb.load(c))
    tl.store(out + 3 * N + at, tb.load(d))


@pytest.mark.parametrize("n", [1, 4, 5])
def test_loops_branches_and_functions_carry_buffers(n):
    x, out = random_tensor(torch.float32, 64), torch.zeros(4, 64)
    carried[(1,)](x, out, n, N=64)
    assert_same(out[0], x * 2**n)
    assert_same(out[1], x * 4**n)
    assert_same(out[2], x * 4**n if n % 2 else torch.full((64,), float(n)))
    assert_same(out[3], x * 4**n if n > 3 else x * 2 ** (2 * n - 1))


@triton.jit
def in_place(x, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)
    a = tb.alloc([N, N], tl.float32, tl.load(x + at))
    tb.store(a, tl.trans(tb.load(a)))
    before = tb.load(a)
    tb.store(a, tl.zeros([N, N], tl.float32))
    tl.store(out + at, before + tb.load(a))
    tb.dealloc(a)


def test_a_load_is_of_its_own_time():
    x, out = random_tensor(torch.float32, 16, 16), torch.zeros(16, 16)
    in_place[(1,)](x, out, N=16)
    assert_same(out, x.T + 0)


@triton.jit
def product(x, y, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, C: tl.constexpr):
    a = tb.alloc([M, C], x.dtype.element_ty)
    b = tb.alloc([N, C], x.dtype.element_ty)
    acc = tl.zeros([M, N], tl.float32)
    for k in range(0, K, C):
        inner = k + tl.arange(0, C)
        tb.store(a, tl.load(x + tl.arange(0, M)[:, None] * K + inner))
        tb.store(b, tl.load(y + tl.arange(0, N)[:, None] * K + inner))
        acc = tl.dot(tb.load(a), tb.load(tb.trans(b, [1, 0])), acc)
        acc = tb.dot_wait(acc, 0)
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N), acc)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=name_of)
@pytest.mark.every_triton(2)
def test_products_of_buffers(dtype):
    x, y, out = random_tensor(dtype, 32, 96), random_tensor(dtype, 64, 96, seed=1), torch.zeros(32, 64)
    product[(1,)](x, y, out, M=32, N=64, K=96, C=32)
    expected = x.double() @ y.double().T
    assert float((out - expected).abs().max()) < 1e-5 * float(expected.abs().max())


@triton.jit
def returns_early(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tb.alloc([N], tl.float32, tl.load(x + at)), tb.alloc([N], tl.float32)
    if n == 0:
        tl.store(out + at, tb.load(a))
        return
    for _ in range(n):
        a, b = twice(a, b)
    if n == 2:
        return
    tl.store(out + at, tb.load(a) + 1)


def test_programs_with_buffers_return_early():
    x, out = random_tensor(torch.float32, 64), torch.zeros(64)
    for n, expected in ((2, out), (0, x), (3, x * 8 + 1)):
        returns_early[(1,)](x, out, n, N=64)
        assert_same(out, expected.clone())


@triton.jit
def joins(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)
    whole = tb.alloc([2 * N, N], tl.float32)
    a, b = tb.part(whole, [0, 0], [N, N]), tb.part(whole, [N, 0], [N, N])
    tb.store(a, tl.load(x + at))
    tb.store(b, tl.load(x + at) * 2)
    for _ in range(n):
        a, b = b, a
    tl.store(out + at, tb.load(a))


@pytest.mark.parametrize("n", [0, 3])
def test_loops_carry_parts_of_a_buffer(n):
    x, out = random_tensor(torch.float32, 16, 16), torch.zeros(16, 16)
    joins[(1,)](x, out, n, N=16)
    assert_same(out, x * (1 + n % 2))
