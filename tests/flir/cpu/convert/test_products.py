"""Products of tiles: every operand type, accumulators in loops and after them, scaled products of small floats."""

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import torch
import triton
import triton.language as tl

from tests.flir.cpu.convert.support import assert_close, assert_lines, random_tensor

pytestmark = pytest.mark.every_triton(4)


@triton.jit
def matrix(N: tl.constexpr, M: tl.constexpr):
    return tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :]


@triton.jit
def product(a, b, c, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ACC: tl.constexpr, OUT: tl.constexpr):
    x, y = tl.load(a + matrix(M, K)), tl.load(b + matrix(K, N))
    if ACC:
        z = tl.dot(x, y, tl.load(c + matrix(M, N)).to(OUT), out_dtype=OUT)
    else:
        z = tl.dot(x, y, out_dtype=OUT)
    tl.store(out + matrix(M, N), z)


def small(dtype, *shape, seed=0):
    if dtype == torch.int8:
        return random_tensor(dtype, *shape, seed=seed)
    return (random_tensor(torch.float64, *shape, seed=seed) * 0.3).to(torch.float32).to(dtype)


TYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8]
TYPES += [torch.float8_e4m3fn, torch.float8_e5m2]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("accumulates", [False, True])
def test_products_of_every_type(dtype, accumulates):
    m, n, k = 32, 16, 64
    a, b = small(dtype, m, k, seed=1), small(dtype, k, n, seed=2)
    into, kind = torch.float32, tl.float32
    if dtype == torch.int8:
        into, kind = torch.int32, tl.int32
    elif dtype == torch.float64:
        into, kind = torch.float64, tl.float64
    c = (random_tensor(torch.float32, m, n, seed=3) * 10).to(into)
    out = torch.zeros(m, n, dtype=into)
    product[(1,)](a, b, c, out, M=m, N=n, K=k, ACC=accumulates, OUT=kind)
    expected = a.double() @ b.double() + (c.double() if accumulates else 0)
    assert_close(out, expected, {torch.int32: 0, torch.float64: 1e-14}.get(into, 1e-5))


@pytest.mark.parametrize("accumulates", [False, True])
def test_a_product_may_be_rounded_to_f16(accumulates):
    a, b = small(torch.float16, 16, 32), small(torch.float16, 32, 16)
    c, out = random_tensor(torch.float16, 16, 16), torch.zeros(16, 16, dtype=torch.float16)
    product[(1,)](a, b, c, out, M=16, N=16, K=32, ACC=accumulates, OUT=tl.float16)
    assert_close(out, a.double() @ b.double() + (c.double() if accumulates else 0), 1e-3)


@triton.jit
def precise(a, b, out, N: tl.constexpr, HOW: tl.constexpr):
    x, y = tl.load(a + matrix(N, N)), tl.load(b + matrix(N, N))
    tl.store(out + matrix(N, N), tl.dot(x, y, input_precision=HOW))


@pytest.mark.parametrize("precision", ["tf32", "tf32x3", "ieee"])
def test_input_precisions_are_all_exact(precision):
    a, b, out = small(torch.float32, 32, 32), small(torch.float32, 32, 32, seed=1), torch.zeros(32, 32)
    precise[(1,)](a, b, out, N=32, HOW=precision)
    assert_close(out, a.double() @ b.double(), 1e-5)


@triton.jit
def small_shapes(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    z = tl.dot(tl.load(a + matrix(M, K)), tl.load(b + matrix(K, N)))
    tl.store(out + matrix(M, N), z)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 16, 4), (16, 1, 2), (2, 128, 8), (128, 2, 16)])
def test_shapes_that_no_gpu_takes(shape):
    m, n, k = shape
    a, b, out = small(torch.float32, m, k), small(torch.float32, k, n, seed=1), torch.zeros(m, n)
    small_shapes[(1,)](a, b, out, M=m, N=n, K=k)
    assert_close(out, a.double() @ b.double(), 1e-5)


@triton.jit
def batched(a, b, c, out, B: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, B)[:, None, None]
    x = tl.load(a + i * N * K + matrix(N, K)[None, :, :])
    y = tl.load(b + i * N * K + matrix(N, K)[None, :, :])
    z = tl.load(c + i * N * N + matrix(N, N)[None, :, :])
    for _ in range(2):
        z = tl.dot(x, y.permute(0, 2, 1), z, out_dtype=z.dtype)
    tl.store(out + i * N * N + matrix(N, N)[None, :, :], z)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int8], ids=str)
def test_batched_products(dtype):
    into = torch.int32 if dtype == torch.int8 else torch.float32
    a, b = small(dtype, 4, 16, 32), small(dtype, 4, 16, 32, seed=1)
    c, out = random_tensor(torch.float32, 4, 16, 16).to(into), torch.zeros(4, 16, 16, dtype=into)
    batched[(1,)](a, b, c, out, B=4, N=16, K=32)
    assert_close(out, 2 * a.double() @ b.double().mT + c.double(), 1e-5)


@triton.jit
def in_loops(a, b, out, rounds, N: tl.constexpr):
    """Two accumulators in one loop, one of them read by the other product; both used afterwards."""
    at = matrix(N, N)
    first, second = tl.zeros((N, N), tl.float32), tl.load(b + at)
    for i in range(rounds):
        x = tl.load(a + i * N * N + at)
        first = tl.dot(x, tl.load(b + at), first)
        second = tl.dot(tl.trans(first), x * 0.1, second)
    tl.store(out + at, first)
    tl.store(out + N * N + at, second + tl.trans(first))
    again = tl.dot(first, second, first) + first
    tl.store(out + 2 * N * N + at, again)


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_products_in_loops(rounds):
    n = 16
    a, b, out = small(torch.float32, 3, n, n), small(torch.float32, n, n, seed=1), torch.zeros(3, n, n)
    in_loops[(1,)](a, b, out, rounds, N=n)
    first, second = torch.zeros(n, n, dtype=torch.float64), b.double()
    for i in range(rounds):
        first = first + a[i].double() @ b.double()
        second = second + first.T @ (a[i].double() * 0.1)
    assert_close(out, torch.stack([first, second + first.T, first @ second + 2 * first]), 1e-5)


@triton.jit
def one_accumulator(a, b, out, rounds, N: tl.constexpr, HOW: tl.constexpr):
    at = matrix(N, N)
    x, y = tl.load(a + at), tl.load(b + at)
    acc = x * 0 + 1
    kept = acc
    for i in range(rounds):
        if HOW == "two products":
            acc = tl.dot(x, y, tl.dot(y, x, acc))
        elif HOW == "itself":
            acc = tl.dot(acc * 0.1, y, acc)
        elif HOW == "itself transposed":
            acc = tl.dot(x, tl.trans(acc) * 0.1, acc)
        elif HOW == "scaled":
            acc = tl.dot(x, y, acc * 0.5)
        elif HOW == "scaled rows":
            acc = tl.dot(x, y, acc / tl.max(tl.abs(acc), axis=1)[:, None])
        elif HOW == "kept":
            kept = acc + 1
            acc = tl.dot(x, y, acc)
        elif HOW == "transposed start":
            acc = tl.dot(x, y, tl.trans(acc))
        else:
            if i % 2 == 0:
                acc = tl.dot(x, y, acc)
            else:
                acc = acc + tl.dot(y, x)
    tl.store(out + at, acc + kept)


USES = {
    "two products": lambda x, y, acc, i: acc + y @ x + x @ y,
    "itself": lambda x, y, acc, i: acc + acc * 0.1 @ y,
    "itself transposed": lambda x, y, acc, i: acc + x @ (acc.T * 0.1),
    "scaled": lambda x, y, acc, i: acc * 0.5 + x @ y,
    "scaled rows": lambda x, y, acc, i: acc / acc.abs().max(1, keepdim=True).values + x @ y,
    "kept": lambda x, y, acc, i: acc + x @ y,
    "transposed start": lambda x, y, acc, i: acc.T + x @ y,
    "branches": lambda x, y, acc, i: acc + (x @ y if i % 2 == 0 else y @ x),
}


@pytest.mark.parametrize("how", list(USES))
def test_ways_to_use_an_accumulator(how):
    n = 16
    a, b, out = small(torch.float32, n, n), small(torch.float32, n, n, seed=1), torch.zeros(n, n)
    one_accumulator[(1,)](a, b, out, 3, N=n, HOW=how)
    x, y = a.double(), b.double()
    acc = kept = torch.ones(n, n, dtype=torch.float64)
    for i in range(3):
        if how == "kept":
            kept = acc + 1
        acc = USES[how](x, y, acc, i)
    assert_close(out, acc + kept, 1e-5)


def test_an_accumulator_stays_where_it_is(tmp_path):
    a, b, out = small(torch.float32, 16, 16), small(torch.float32, 16, 16, seed=1), torch.zeros(16, 16)
    text = one_accumulator[(1,)](a, b, out, 3, N=16, HOW="scaled").asm["linalg"]
    lines = """
        // CHECK: scf.for
        // CHECK: linalg.generic {{.*}} outs(%[[ACC:.*]] : memref<16x16xf32>)
        // CHECK: linalg.matmul ins({{.*}}) outs(%[[ACC]] : memref<16x16xf32>)
        // CHECK-NEXT: }
    """
    assert_lines(text, lines, tmp_path)


@triton.jit
def scaled(
    a, a_scale, b, b_scale, c, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    A: tl.constexpr, B: tl.constexpr, A_PACKED: tl.constexpr, B_PACKED: tl.constexpr,
):  # fmt: skip
    if A == "e2m1":
        x = tl.load(a + (matrix(M, K // 2) if A_PACKED else matrix(M // 2, K)))
    else:
        x = tl.load(a + matrix(M, K))
    if B == "e2m1":
        y = tl.load(b + (matrix(K // 2, N) if B_PACKED else matrix(K, N // 2)))
    else:
        y = tl.load(b + matrix(K, N))
    if a_scale is not None:
        a_scales = tl.load(a_scale + matrix(M, K // 32))
    else:
        a_scales = None
    if b_scale is not None:
        b_scales = tl.load(b_scale + matrix(N, K // 32))
    else:
        b_scales = None
    z = tl.dot_scaled(
        x, a_scales, A, y, b_scales, B, tl.load(c + matrix(M, N)), lhs_k_pack=A_PACKED, rhs_k_pack=B_PACKED
    )
    tl.store(out + matrix(M, N), z)


E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.float64)


def operand(kind, rows, columns, packed_axis, seed):
    """The operand as the kernel takes it, and its numbers."""
    if kind == "e2m1":
        shape = (rows // 2, columns) if packed_axis == 0 else (rows, columns // 2)
        raw = random_tensor(torch.uint8, *shape, seed=seed)
        halves = torch.stack([E2M1[(raw & 15).long()], E2M1[(raw >> 4).long()]], 1 if packed_axis == 0 else 2)
        return raw, halves.reshape(rows, columns)
    dtype = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "bf16": torch.bfloat16, "fp16": torch.float16}
    raw = small(dtype[kind], rows, columns, seed=seed)
    numbers = raw.double()
    return (raw.view(torch.uint8) if kind.startswith("e") else raw), numbers


@pytest.mark.parametrize(
    "a_kind, b_kind, a_packed, b_packed, a_scaled, b_scaled",
    [
        ("e2m1", "e2m1", True, True, True, True),
        ("e2m1", "e2m1", False, False, True, True),
        ("e2m1", "bf16", True, True, True, False),
        ("e4m3", "e2m1", True, False, True, True),
        ("e4m3", "e5m2", True, True, True, True),
        ("bf16", "e4m3", True, True, False, True),
        ("e5m2", "fp16", True, True, True, False),
        ("bf16", "bf16", True, True, True, True),
    ],
)
def test_scaled_products(a_kind, b_kind, a_packed, b_packed, a_scaled, b_scaled):
    m, n, k = 32, 16, 64
    a, x = operand(a_kind, m, k, 1 if a_packed else 0, 1)
    b, y = operand(b_kind, k, n, 0 if b_packed else 1, 2)
    scales = [torch.randint(110, 140, (size, k // 32), dtype=torch.uint8) for size in (m, n)]
    c, out = random_tensor(torch.float32, m, n), torch.zeros(m, n)
    a_scale, b_scale = (s if used else None for s, used in zip(scales, (a_scaled, b_scaled)))
    scaled[(1,)](
        a, a_scale, b, b_scale, c, out, M=m, N=n, K=k, A=a_kind, B=b_kind, A_PACKED=a_packed, B_PACKED=b_packed
    )
    if a_scaled:
        x = x * (scales[0].double() - 127).exp2().repeat_interleave(32, 1)
    if b_scaled:
        y = y * (scales[1].double() - 127).exp2().repeat_interleave(32, 1).T
    assert_close(out, x @ y + c.double(), 1e-5)


def test_a_scale_of_255_is_nan():
    a, b = small(torch.bfloat16, 16, 32), small(torch.bfloat16, 32, 16)
    scale = torch.full((16, 1), 127, dtype=torch.uint8)
    broken = scale.clone()
    broken[3] = 255
    out = torch.zeros(16, 16)
    scaled[(1,)](a, broken, b, scale, out, out, M=16, N=16, K=32, A="bf16", B="bf16", A_PACKED=True, B_PACKED=True)
    assert bool(out[3].isnan().all())
    assert_close(out[4:], (a.double() @ b.double())[4:], 1e-5)
