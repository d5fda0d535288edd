"""Operations that arrange elements: each against the same arrangement of NumPy's or torch's."""

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import torch
import triton
import triton.language as tl

from tests.flir.cpu.convert.support import assert_lines, assert_same, random_tensor

TYPES = [torch.bool, torch.int8, torch.float16, torch.int64]


@triton.jit
def put(out, tile):
    tl.store(out + tl.arange(0, tile.numel), tile.reshape(tile.numel))


@triton.jit
def arranged(x, y, outs, N: tl.constexpr, M: tl.constexpr):
    row, column = tl.arange(0, N), tl.arange(0, M)
    at = row[:, None] * M + column[None, :]
    a, b = tl.load(x + at), tl.load(y + at)
    put(outs[0], tl.trans(a))
    put(outs[1], tl.join(a, b))
    put(outs[2], tl.interleave(a, b))
    put(outs[3], a.reshape(M // 2, 2, N).permute(2, 0, 1))
    left, right = a.reshape(N, M // 2, 2).split()
    put(outs[4], left)
    put(outs[5], right)
    put(outs[6], tl.cat(a.reshape(N * M), b.reshape(N * M), can_reorder=True))
    put(outs[7], tl.broadcast_to(tl.load(x + column)[None, :], (N, M)))
    put(outs[8], tl.broadcast_to(tl.load(x + row * M)[:, None], (N, M)))
    put(outs[9], a.expand_dims(1).broadcast_to((N, 4, M)))
    put(outs[10], tl.flip(a, 1))
    put(outs[11], tl.flip(a, 0))
    put(outs[12], tl.ravel(tl.permute(tl.join(a, b), (2, 1, 0))))
    put(outs[13], tl.join(tl.join(a, b), tl.join(b, a)).permute(3, 0, 2, 1).reshape(M * 4, N).trans())
    c, d = tl.split(tl.join(a, b))
    put(outs[14], c)
    put(outs[15], d)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_arrangements(dtype):
    n, m = 4, 16
    a, b = (random_tensor(dtype, n, m, seed=seed) for seed in (1, 2))
    joined = torch.stack([a, b], -1)
    expected = [
        a.T,
        joined,
        joined.reshape(n, 2 * m),
        a.reshape(m // 2, 2, n).permute(2, 0, 1),
        a[:, ::2],
        a[:, 1::2],
        torch.cat([a.flatten(), b.flatten()]),
        a[:1].expand(n, m),
        a[:, :1].expand(n, m),
        a[:, None].expand(n, 4, m),
        a.flip(1),
        a.flip(0),
        joined.permute(2, 1, 0),
        torch.stack([joined, torch.stack([b, a], -1)], -1).permute(3, 0, 2, 1).reshape(m * 4, n).T,
        a,
        b,
    ]
    outs = [torch.zeros(e.shape, dtype=dtype) for e in expected]
    arranged[(1,)](a, b, tuple(outs), N=n, M=m)
    for number, (out, e) in enumerate(zip(outs, expected)):
        assert_same(out.flatten(), e.flatten(), number)


@triton.jit
def many_dimensions(x, out, R: tl.constexpr):
    a = tl.load(x + tl.arange(0, 64))
    if R == 3:
        b = a.reshape(4, 2, 8).permute(1, 2, 0) + tl.arange(0, 4)[None, None, :]
    elif R == 4:
        b = a.reshape(2, 4, 1, 8).permute(3, 1, 0, 2) + tl.arange(0, 4)[None, :, None, None]
    else:
        b = a.reshape(2, 2, 4, 2, 2).permute(4, 2, 0, 3, 1) + tl.arange(0, 4)[None, :, None, None, None]
    tl.store(out + tl.arange(0, 64), tl.ravel(b * 2))


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_many_dimensions(rank):
    x, out = torch.arange(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    many_dimensions[(1,)](x, out, R=rank)
    four = torch.arange(4)
    expected = {
        3: x.reshape(4, 2, 8).permute(1, 2, 0) + four,
        4: x.reshape(2, 4, 1, 8).permute(3, 1, 0, 2) + four[None, :, None, None],
        5: x.reshape(2, 2, 4, 2, 2).permute(4, 2, 0, 3, 1) + four[None, :, None, None, None],
    }[rank]
    assert_same(out, (expected * 2).flatten())


@triton.jit
def stored_arrangements(x, out, N: tl.constexpr):
    """Reductions between the arrangements: each has to be stored and read in the other order."""
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    b = tl.cumsum(a, axis=0)
    c = tl.trans(b) - tl.sum(b, axis=1)[:, None]
    left, right = tl.split(tl.cumsum(c, axis=1).reshape(N, N // 2, 2))
    d = tl.join(right, left).reshape(N, N)
    tl.store(out + at, tl.cumsum(tl.flip(d, 1), axis=0) + tl.max(d.trans(), axis=0)[None, :])


def test_arrangements_of_stored_tiles():
    x = random_tensor(torch.int32, 16, 16)
    out = torch.zeros_like(x)
    stored_arrangements[(1,)](x, out, N=16)
    b = x.cumsum(0, dtype=torch.int32)
    c = b.T - b.sum(1, dtype=torch.int32)[:, None]
    d = c.cumsum(1, dtype=torch.int32)
    d = torch.stack([d[:, 1::2], d[:, ::2]], -1).reshape(16, 16)
    assert_same(out, d.flip(1).cumsum(0, dtype=torch.int32) + d.T.max(0).values)


@triton.jit
def sizes_of_one(x, out):
    a = tl.load(x + tl.arange(0, 1))
    b = a[:, None] + tl.arange(0, 1)[None, :]
    tl.store(out + tl.arange(0, 1), tl.sum(b, axis=1))
    tl.store(out + 1 + tl.arange(0, 2), tl.join(a, a * 2).reshape(2))
    scalar = tl.load(x + 1)
    pair = tl.join(scalar, scalar + 1)
    first, second = tl.split(pair)
    tl.store(out + 3, first * second)
    tl.store(out + 4 + tl.arange(0, 2), pair)
    tl.store(out + 6, tl.reshape(a, ()) if False else tl.sum(a))


def test_tiles_of_one_element_and_scalars():
    x, out = torch.tensor([3.0, 5.0]), torch.zeros(7)
    sizes_of_one[(1,)](x, out)
    assert out.tolist() == [3, 3, 6, 30, 5, 6, 3]


@triton.jit
def pointers_arranged(x, out, N: tl.constexpr):
    pointers = (x + tl.arange(0, N * 2)).reshape(N, 2)
    a, b = tl.split(pointers)
    tl.store(out + tl.arange(0, N), tl.load(b) - tl.load(a))
    joined = tl.join(b, a).reshape(N * 2)
    tl.store(out + N + tl.arange(0, N * 2), tl.load(joined))


def test_tiles_of_pointers_are_arranged():
    x, out = random_tensor(torch.int32, 32), torch.zeros(48, dtype=torch.int32)
    pointers_arranged[(1,)](x, out, N=16)
    pairs = x.reshape(16, 2)
    assert_same(out, torch.cat([pairs[:, 1] - pairs[:, 0], pairs.flip(1).flatten()]))


def test_arrangements_need_no_buffer(tmp_path):
    x, out = random_tensor(torch.int32, 64), torch.zeros(64, dtype=torch.int32)
    text = many_dimensions[(1,)](x, out, R=3).asm["linalg"]
    apart = """
        // CHECK: scf.if
        // CHECK: linalg.generic
        // CHECK-NOT: memref.load
        // CHECK: else
    """
    assert_lines(text, apart, tmp_path)
